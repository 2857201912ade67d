"""Runs the benchmarks: `python -m benchmarks [--quick] [--only TABLE] [--readme]`."""

import sys

from benchmarks.run import main

sys.exit(main(sys.argv[1:]))
