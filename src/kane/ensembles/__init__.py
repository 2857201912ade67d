"""Ensembles: many trajectories of one model, with different initial states, inputs and parameters."""
