"""What the user asks of a run: inputs over time, events, the span and its records, prescribed motions."""
