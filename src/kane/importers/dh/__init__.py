"""Serial arms from Hartenberg-Denavit tables."""
