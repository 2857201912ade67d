"""Kane's method: from a model to equations of motion, one step a file."""

from kane.formulation import equations_form as equations_form  # which tells pickle and deepcopy what equations are
