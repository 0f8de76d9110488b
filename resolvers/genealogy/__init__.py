"""Family trees: edges, commands, kinship, charts and GEDCOM."""
