"""This machine: its processor, object code linked into the process, and the cache of object code on disk."""
