"""Sweeps: studies of many runs that are stored chunk by chunk, resumed, and computed on one machine or a cluster."""
