"""Quantities derived from the equations: energies, momenta, poses, and the programs that compute them."""
