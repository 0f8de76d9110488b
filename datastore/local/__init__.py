"""Location of the table: endpoint, local engine and provisioning."""
