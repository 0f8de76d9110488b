"""Live queries, subscriptions and the transports that send several results."""
