"""Safe reading and writing of one file; all file formats of kane use these functions."""
