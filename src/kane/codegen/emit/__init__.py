"""Emitters that write programs as text (LLVM, C, NumPy, JAX, LaTeX, listings), each with one table of operations."""
