"""Compiled (native) functions of the equations of motion."""
