"""Recursive routes to the equations: inward and outward sweeps over the links."""
