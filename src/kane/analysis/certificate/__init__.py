"""Certificates of models: agreement of independent derivations and physical laws, in decimal digits."""
