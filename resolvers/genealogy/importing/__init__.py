"""Imports GEDCOM files into a tree."""
