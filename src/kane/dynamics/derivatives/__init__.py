"""Exact numerical derivatives of programs, also under constraints, and second derivatives."""
