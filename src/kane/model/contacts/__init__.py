"""Constraints that come and go: contacts, stops, latches, sticking joints, switches. One contract, one file each."""

from kane.model.contacts.candidate import Candidate
from kane.model.contacts.contact import Contact
from kane.model.contacts.declarations import Candidates
from kane.model.contacts.friction import Coulomb, Thresholds
from kane.model.contacts.imposition import Imposition
from kane.model.contacts.latch import Latch
from kane.model.contacts.member import Intermittent
from kane.model.contacts.restitution import Newton, Poisson
from kane.model.contacts.stick import Stick
from kane.model.contacts.stop import Stop
from kane.model.contacts.switch import Switch

__all__ = [
    "Candidate",
    "Candidates",
    "Contact",
    "Coulomb",
    "Imposition",
    "Intermittent",
    "Latch",
    "Newton",
    "Poisson",
    "Stick",
    "Stop",
    "Switch",
    "Thresholds",
]
