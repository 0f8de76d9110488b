"""The multi-tenant CMS: edges, commands, routes and the audit log."""
