"""The scalar expression graph: hash-consed, simplified as it is built, never expanded. Knows no mechanics."""

from kane.expression import arena_form as arena_form  # which tells pickle and deepcopy what nodes are
