"""Enumerations of models with constraints: programs of a ConstraintHeader, and selection of dependent speeds."""

from __future__ import annotations

# Programs of a ConstraintHeader, an index into its arrays.
CONSTRAINTS = 0  # A and A u + b: ConstraintRows
CONFIGURATION = 1  # residuals of the configuration
KINEMATICS = 2  # dq/dt
UNCONSTRAINED = 3  # mass matrix and loads: UnconstrainedTerms
OWN = 4  # projection of the configuration by the joints' own speeds; address 0 if these are the generalized speeds

# How dependent speeds are selected.
AFRESH = 0  # at each call
KEPT = 1  # as the header says; projections select anew
FIXED = 2  # as the header says

# Rank of a selection that has not been made.
UNCHOSEN = -1
