"""States that satisfy all constraints, and loops closed from a guess."""
