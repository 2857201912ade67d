"""Native loops and programs over arrays and addresses, compiled once for all models when the package is built."""
