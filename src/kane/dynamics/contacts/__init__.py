"""Intermittent constraints: native functions of a model, table of constraints, compiled modes, refusals."""
