"""Changes of the table: where they come from, the log that holds them, and how far each reader has come."""
