"""DynamoDB client: table, writes, transport and errors."""
