"""Haptic devices: one contract, one file each."""
