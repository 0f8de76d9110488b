"""How an entity is declared, encoded and decoded."""
