"""Family trees. Importing any of its modules registers the visibility rules."""

from resolvers.genealogy import notices, search, visibility

__all__ = ["notices", "search", "visibility"]
