"""Exact derivatives in numbers: of programs, of accelerations of many speeds, under constraints, second ones."""
