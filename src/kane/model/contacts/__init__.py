"""Constraints that come and go: contacts, stops, latches, sticking joints, switches. One contract, one file each."""

from kane.model.contacts.candidate import Candidate
from kane.model.contacts.friction import Coulomb, Thresholds
from kane.model.contacts.restitution import Newton, Poisson

__all__ = ["Candidate", "Coulomb", "Newton", "Poisson", "Thresholds"]
