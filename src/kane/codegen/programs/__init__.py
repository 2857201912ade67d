"""Straight-line programs built from the expression graph, and rewrites that shorten them."""
