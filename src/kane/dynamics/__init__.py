"""Equations to native dynamics."""
