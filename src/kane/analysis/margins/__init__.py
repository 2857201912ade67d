"""Margins of a vehicle against slip, skid, lift-off and tipping over."""
