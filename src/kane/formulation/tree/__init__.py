"""Model data for the derivation: links, their frames and masses, and the speeds of the joints."""
