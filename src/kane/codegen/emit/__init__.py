"""Programs as text: LLVM, C, NumPy, JAX, LaTeX, listings; one table of operations each."""
