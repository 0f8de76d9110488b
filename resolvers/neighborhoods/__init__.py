"""Neighborhoods, sites and builds. Importing any of its modules registers the visibility rules."""

from resolvers.neighborhoods import visibility

__all__ = ["visibility"]
