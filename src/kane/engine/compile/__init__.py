"""Native loops and programs compiled ahead, by numba and LLVM: `python -m kane.engine.compile FOLDER`."""
