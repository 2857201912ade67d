"""Constraints that come and go: native functions of a model, its candidates, compiled modes, refusals."""
