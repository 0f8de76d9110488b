"""How-to cards: edges, commands, ranking, search and jobs."""
