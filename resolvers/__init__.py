"""Edges, queries and commands by domain: plain functions from records to keys, and the rules of what may be done."""
