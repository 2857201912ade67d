"""Independent derivations that verify the routes: path tables and Lagrange's equations."""
