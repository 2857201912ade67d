"""Kane's method: from a model to equations of motion, one step a file."""
