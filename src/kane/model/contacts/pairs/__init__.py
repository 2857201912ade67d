"""Contact geometry: which features touch which surfaces, and where."""

from kane.model.contacts.pairs.contact_pairs import touches

__all__ = ["touches"]
