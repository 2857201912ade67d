"""Compile programs to native code in this process, cache it on disk, and call it for one state or many."""
