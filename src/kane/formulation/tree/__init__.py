"""A model read for derivation: its links, their frames and masses, and the speeds of its joints."""
