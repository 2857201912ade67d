"""Loads: one abstract class (``load.Load``), one file per kind. Uniform gravity belongs to the model."""

from typing import TYPE_CHECKING

from kane.deferred import exporting

__getattr__, __dir__ = exporting(__name__)

if TYPE_CHECKING:
    from kane.model.loads.damper import Damper as Damper
    from kane.model.loads.force import Force as Force
    from kane.model.loads.load import Effect as Effect
    from kane.model.loads.load import Load as Load
    from kane.model.loads.load import Wrench as Wrench
    from kane.model.loads.motor import Motor as Motor
    from kane.model.loads.point_damper import PointDamper as PointDamper
    from kane.model.loads.point_spring import PointSpring as PointSpring
    from kane.model.loads.spring import Spring as Spring
    from kane.model.loads.torque import Torque as Torque
