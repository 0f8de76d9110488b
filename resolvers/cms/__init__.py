"""The multi-tenant CMS. Importing any of its modules registers the visibility rules."""

from resolvers.cms import notices, search, visibility

__all__ = ["notices", "search", "visibility"]
