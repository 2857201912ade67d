"""What is kept of a run: its record, the trajectory made of it, its file, its picture, its audit."""
