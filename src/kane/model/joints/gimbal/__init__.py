"""Joints of one to three angles by any Euler sequence."""
