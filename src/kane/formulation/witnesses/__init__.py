"""Derivations of their own that vouch for the others: path tables, Lagrange's equations."""
