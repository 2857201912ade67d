"""Results of runs: the record, the trajectory, its file, its plots and pages, and its audit."""
