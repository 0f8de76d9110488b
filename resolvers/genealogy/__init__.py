"""Family trees. Importing any of its modules registers the visibility rules."""

from resolvers.genealogy import notices, visibility

__all__ = ["notices", "visibility"]
