"""Webhooks: edges, commands, events and their delivery. Importing any of them registers the visibility rules."""

from resolvers.webhooks import visibility

__all__ = ["visibility"]
