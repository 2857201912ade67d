"""Straight-line programs built from the expression graph, and their translations: native code, C, listings."""
