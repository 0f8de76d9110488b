"""Validation, compilation and execution of operations."""
