"""Equilibria and steady motions, and the linear systems of small motions about them."""
