"""The multi-tenant CMS. Importing any of its modules registers the visibility rules."""

from resolvers.cms import notices, visibility

__all__ = ["notices", "visibility"]
