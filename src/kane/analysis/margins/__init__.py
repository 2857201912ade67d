"""How far a vehicle is from slip, skid and tipping over."""
