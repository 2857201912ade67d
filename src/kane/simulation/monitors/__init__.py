"""Monitors of runs: stalls, singularities, failures, penetration at the start, and progress."""
