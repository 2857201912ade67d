"""Generalized speeds of the analyst's choice, solved for the joints' own."""
