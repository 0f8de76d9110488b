"""How DynamoDB is called: the table client, its writes, transport and errors."""
