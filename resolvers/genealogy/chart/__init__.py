"""Ancestor and descendant charts as SVG."""
