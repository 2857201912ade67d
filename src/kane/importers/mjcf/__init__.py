"""Models from MJCF files."""
