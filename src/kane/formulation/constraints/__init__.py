"""Constraints: their rows, structural elimination, dependent speeds and their symbolic embedding."""
