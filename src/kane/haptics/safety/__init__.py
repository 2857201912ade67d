"""Stable settings of a coupler in front of a device."""
