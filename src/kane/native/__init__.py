"""Native loops and programs: numba functions over arrays and addresses, compiled once for all models."""
