"""Exports a tree as a GEDCOM file."""
