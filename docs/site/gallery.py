"""Stub."""


def write_gallery(stage, html):
    """Write."""
    stage.write("gallery/index.md", "# Gallery\n")
