"""Accounts: edges, commands, tokens and the account lifecycle."""
