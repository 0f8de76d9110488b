"""The multi-tenant CMS. Importing any of its modules registers the visibility rules."""

from resolvers.cms import visibility

__all__ = ["visibility"]
