"""The GraphQL schema: types by domain, connections, execution, and schema.graphql, its committed text."""
