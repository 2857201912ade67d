"""Constraints: what restricts the motion or the configuration of a model. One file each."""

from kane.model.constraints.constraint import Constraint, Imposed, Row, row_of
from kane.model.constraints.welded import Welded

__all__ = ["Constraint", "Imposed", "Row", "Welded", "row_of"]
