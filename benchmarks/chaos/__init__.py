"""Runs a real server through faults, attacks and overload, and checks budgets. `make chaos`."""
