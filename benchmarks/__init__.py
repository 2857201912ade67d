"""Speed and size of kane beside its peers, measured in one run on one core (`python -m benchmarks`, `kane bench`)."""
