"""Rolling and sliding constraints."""

from kane.model.constraints.rolling.rolling import Rolling, Sliding

__all__ = ["Rolling", "Sliding"]
