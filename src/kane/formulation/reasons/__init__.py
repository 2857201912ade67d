"""Reasons: bodies, loads and constraints that contribute the terms of an equation of motion."""
