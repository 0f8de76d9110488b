"""The social network: edges, commands and jobs."""
