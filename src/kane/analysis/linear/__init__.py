"""Equilibria, steady motions, and linear systems of small motions about them."""
