"""Integrators: one interface (``integrator.Integrator``), one file per method."""

from typing import TYPE_CHECKING

from kane.deferred import exporting

__getattr__, __dir__ = exporting(__name__)

if TYPE_CHECKING:
    from kane.simulation.integrators.explicit import Adaptive as Adaptive
    from kane.simulation.integrators.explicit import Explicit as Explicit
    from kane.simulation.integrators.explicit import Tableau as Tableau
    from kane.simulation.integrators.gauss4 import Gauss4 as Gauss4
    from kane.simulation.integrators.implicit import Implicit as Implicit
    from kane.simulation.integrators.integrator import Integrator as Integrator
    from kane.simulation.integrators.midpoint import Midpoint as Midpoint
    from kane.simulation.integrators.moreau_jean import MoreauJean as MoreauJean
    from kane.simulation.integrators.rk4 import RK4 as RK4
    from kane.simulation.integrators.rk5 import RK5 as RK5
    from kane.simulation.integrators.rk8 import RK8 as RK8
    from kane.simulation.integrators.sundae import BDF as BDF
