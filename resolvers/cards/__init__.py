"""How-to cards. Importing any of its modules registers the visibility rules."""

from resolvers.cards import visibility

__all__ = ["visibility"]
