"""What commands and edges of every domain share."""
