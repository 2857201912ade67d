"""Events of a run, and their accumulation in ever shorter time."""
