"""Accounts: edges, commands and lifecycle. Importing any of them registers the visibility rules."""

from resolvers.accounts import search, visibility

__all__ = ["search", "visibility"]
