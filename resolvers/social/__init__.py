"""The social network: edges, commands, jobs and processors. Importing any registers visibility rules and processors."""

from resolvers.social import notices, processors, search, visibility

__all__ = ["notices", "processors", "search", "visibility"]
