"""The scalar expression graph: hash-consed, simplified as it is built, never expanded. Knows no mechanics."""
