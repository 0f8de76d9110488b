"""Notifications of all applications. Importing any module of it registers the visibility rules."""

from resolvers.notifications import visibility

__all__ = ["visibility"]
