"""Constraints: their rows, elimination by structure, dependent speeds and their embedding on the graph."""
