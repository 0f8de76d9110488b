"""Deferred fragments and streamed lists: their directives, plans and delivery."""
