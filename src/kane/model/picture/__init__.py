"""Display of a model: its kinematic graph as text, tables and picture."""
