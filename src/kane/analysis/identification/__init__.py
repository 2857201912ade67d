"""Identification of parameters from measured motions, with standard errors and base parameters."""
