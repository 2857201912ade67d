"""``python -m kane`` is the command line."""

from kane.cli.start import start

start()
