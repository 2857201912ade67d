"""The hybrid automaton of a model with contacts: its modes, and the transitions between them."""
