"""What measured motions say about parameters, and what they cannot say."""
