"""Constraints: what restricts the motion or the configuration of a model. One file each."""

from kane.model.constraints.cam import Cam
from kane.model.constraints.coincidence import Coincidence
from kane.model.constraints.constraint import Constraint, Imposed, Row, row_of
from kane.model.constraints.distance import Distance
from kane.model.constraints.gear import Gear
from kane.model.constraints.no_skid import NoSkid
from kane.model.constraints.parallel import Parallel
from kane.model.constraints.prescribed import Prescribed
from kane.model.constraints.rolling import Rolling, Sliding
from kane.model.constraints.rope import Rope
from kane.model.constraints.welded import Welded

__all__ = [
    "Cam",
    "Coincidence",
    "Constraint",
    "Distance",
    "Gear",
    "Imposed",
    "NoSkid",
    "Parallel",
    "Prescribed",
    "Rolling",
    "Rope",
    "Row",
    "Sliding",
    "Welded",
    "row_of",
]
