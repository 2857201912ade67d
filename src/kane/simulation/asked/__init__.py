"""The user's specification of a run: inputs over time, events, time span, records and prescribed motions."""
