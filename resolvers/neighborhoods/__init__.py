"""Neighborhoods, sites and builds: edges, commands and jobs."""
