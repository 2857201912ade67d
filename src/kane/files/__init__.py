"""One file, read or written safely: what every format of kane goes through."""
