"""Analytics: what happened per day and hour, counted by a processor. Importing any module registers it."""

from resolvers.analytics import processors

__all__ = ["processors"]
