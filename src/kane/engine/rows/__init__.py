"""Constraint rows: their responses, forces and impulses at given states."""
