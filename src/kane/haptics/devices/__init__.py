"""Haptic devices: the common interface, and one module per device."""
