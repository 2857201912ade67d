"""Rolling and sliding constraints."""
