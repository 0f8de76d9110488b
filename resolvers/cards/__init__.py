"""How-to cards. Importing any of its modules registers the visibility rules."""

from resolvers.cards import notices, processors, search, visibility

__all__ = ["notices", "processors", "search", "visibility"]
