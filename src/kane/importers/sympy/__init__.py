"""SymPy's expressions and matrices as expressions of kane. SymPy itself is not imported: its objects are the input."""
