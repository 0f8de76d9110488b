"""Family trees. Importing any of its modules registers the visibility rules."""

from resolvers.genealogy import visibility

__all__ = ["visibility"]
