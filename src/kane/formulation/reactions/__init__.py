"""Reactions of joints and constraints by auxiliary speeds, and loads that depend on them."""
