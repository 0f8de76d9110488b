"""Declarations of GraphQL types, fields and commands."""
