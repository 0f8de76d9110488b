"""Reading for one request: batched, cached, and only what the viewer may see."""
