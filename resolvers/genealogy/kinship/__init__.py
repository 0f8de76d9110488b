"""Kinship computed over a family in memory."""
