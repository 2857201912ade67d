"""A model shown: its kinematic graph as text, as tables and as a picture."""
