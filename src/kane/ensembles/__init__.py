"""Ensembles: one machine from many states, with many inputs and many parameters."""
