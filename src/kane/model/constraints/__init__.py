"""Constraints on the motion or the configuration of a model: one abstract class, one file per kind."""

from typing import TYPE_CHECKING

from kane.deferred import exporting

__getattr__, __dir__ = exporting(__name__)

if TYPE_CHECKING:
    from kane.model.constraints.cam import Cam as Cam
    from kane.model.constraints.coincidence import Coincidence as Coincidence
    from kane.model.constraints.constraint import Constraint as Constraint
    from kane.model.constraints.constraint import Row as Row
    from kane.model.constraints.distance import Distance as Distance
    from kane.model.constraints.gear import Gear as Gear
    from kane.model.constraints.no_skid import NoSkid as NoSkid
    from kane.model.constraints.parallel import Parallel as Parallel
    from kane.model.constraints.prescribed import Prescribed as Prescribed
    from kane.model.constraints.rolling.rolling import Rolling as Rolling
    from kane.model.constraints.rolling.rolling import Sliding as Sliding
    from kane.model.constraints.rope import Rope as Rope
