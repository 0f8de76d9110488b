"""The HTTP application: routes, protocol, settings and process setup."""
