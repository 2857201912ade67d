"""Exact derivatives of the equations: in the tangent space of q, in u, udot, inputs, time and parameters."""
