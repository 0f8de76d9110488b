// Apollo Server, standalone. It caches parsed and validated documents.
import { ApolloServer } from '@apollo/server'
import { ApolloServerPluginCacheControlDisabled } from '@apollo/server/plugin/disabled'
import { startStandaloneServer } from '@apollo/server/standalone'
import { contextOf } from './context.js'
import { schema } from './schema.js'

const server = new ApolloServer({
  schema,
  // The schema has no cache hints, and collecting them costs CPU for every field.
  plugins: [ApolloServerPluginCacheControlDisabled()],
})

await startStandaloneServer(server, {
  listen: { port: Number(process.env.PORT), host: '127.0.0.1' },
  context: async ({ req }) => contextOf(req.headers.authorization),
})
