"""What tests compare kane with: the same model in Pinocchio and in MuJoCo, and Lagrange's equations."""
