"""Rolling and sliding constraints, with the equations of each pair of shapes in a file of its own."""

from kane.model.constraints.rolling.rolling import Rolling, Sliding

__all__ = ["Rolling", "Sliding"]
