"""Independent references for tests: the same model in Pinocchio and MuJoCo, Lagrange's equations, and mutants."""
