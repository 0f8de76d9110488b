"""Where the table is: the endpoint, the local engine, and provisioning."""
