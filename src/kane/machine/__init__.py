"""This machine: its processor, object code linked into the process, and object code kept on disk."""
