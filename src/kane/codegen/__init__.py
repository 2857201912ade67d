"""Straight-line programs read off the expression graph, and their translations: native code, C, listings."""
