"""Kane's method: from a model to its equations of motion, one step per file."""

from kane.formulation import equations_form as equations_form  # registers pickling and copying of Equations
