"""Time span of a run: steps, times at which steps end, and times of records."""
