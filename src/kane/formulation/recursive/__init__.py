"""Recursive route to the equations of motion: outward and inward sweeps over the links."""
