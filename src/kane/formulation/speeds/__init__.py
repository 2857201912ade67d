"""Generalized speeds chosen by the user, and the joints' own speeds in terms of them."""
