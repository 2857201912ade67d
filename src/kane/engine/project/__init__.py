"""Projection of states onto constraints."""
