"""Declaration, encoding and decoding of entities."""
