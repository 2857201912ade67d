"""Intermittent constraints (contacts, stops, latches, sticking joints, switches): one abstract class, one file each."""

from typing import TYPE_CHECKING

from kane.deferred import exporting

__getattr__, __dir__ = exporting(__name__)

if TYPE_CHECKING:
    from kane.model.contacts.contact import Contact as Contact
    from kane.model.contacts.friction import Coulomb as Coulomb
    from kane.model.contacts.intermittent_constraint import Intermittent as Intermittent
    from kane.model.contacts.intermittent_constraint import IntermittentConstraint as IntermittentConstraint
    from kane.model.contacts.restitution import Newton as Newton
    from kane.model.contacts.restitution import Poisson as Poisson
    from kane.model.contacts.restitution import Stronge as Stronge
