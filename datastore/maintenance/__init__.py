"""Maintenance of the whole table: commands and background work, never the work of a request."""
