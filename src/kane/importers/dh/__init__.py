"""Importer of serial arms from Hartenberg-Denavit tables."""
