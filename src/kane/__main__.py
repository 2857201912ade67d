"""``python -m kane`` is the command line."""

from kane.cli.main import app

app(prog_name="kane")
