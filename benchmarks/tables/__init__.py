"""One table a file; each offers `table(mode)`."""
