"""Playground: a static site in which a reader edits a model, and Python in the browser derives its equations."""
