"""Which features touch which surfaces, and where: the geometry of contacts."""

from kane.model.contacts.pairs.pairs import touches

__all__ = ["touches"]
