"""Search over all domains: documents, their analysis, the engine that keeps the index, and the query."""
