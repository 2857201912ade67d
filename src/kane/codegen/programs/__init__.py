"""Straight-line programs read off the expression graph, in stages."""
