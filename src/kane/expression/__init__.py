"""Scalar expression graph: hash-consed, simplified when built, never expanded, and independent of mechanics."""

from kane.expression import arena_form as arena_form  # registers nodes and arenas with pickle and deepcopy
