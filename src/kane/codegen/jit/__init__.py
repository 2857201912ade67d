"""Programs as native code in this process: compiled, kept on disk, called for one state or many."""
