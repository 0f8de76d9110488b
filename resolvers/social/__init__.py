"""The social network: edges, commands and jobs. Importing any of them registers the visibility rules."""

from resolvers.social import visibility

__all__ = ["visibility"]
