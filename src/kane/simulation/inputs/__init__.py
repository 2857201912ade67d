"""Inputs of a run over time: constants, samples, expressions, Python functions and sampled laws."""
