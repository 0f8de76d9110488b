"""Reads for one request: batched, cached and filtered by visibility."""
