"""Stub."""


def write_reference(stage):
    """Write."""
    stage.write("reference/index.md", "# Reference\n")
