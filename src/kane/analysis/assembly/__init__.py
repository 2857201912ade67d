"""Assembly: states that satisfy all constraints, found from a guess."""
