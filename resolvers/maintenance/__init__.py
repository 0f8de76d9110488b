"""Consistency of the table: rules that each domain declares, a check that finds what breaks them, and repairs."""
