"""Measures live queries and subscriptions over real sockets."""
