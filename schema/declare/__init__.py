"""How GraphQL types, fields and commands are declared."""
