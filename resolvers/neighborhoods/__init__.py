"""Neighborhoods, sites and builds. Importing any of its modules registers the visibility rules."""

from resolvers.neighborhoods import notices, processors, search, visibility

__all__ = ["notices", "processors", "search", "visibility"]
