"""The table: entities and keys by domain, the client that reads and writes them, and the local engine."""
