"""Shared by the commands and edges of all domains."""
