"""What can be found out about a model and its motions."""
