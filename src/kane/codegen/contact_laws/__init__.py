"""Contact laws as expressions, and the writer of their kernels, ``kane.engine.laws.generated_laws``."""
