// GraphQL Yoga on node:http. It caches parsed and validated documents.
import { createServer } from 'node:http'
import { createYoga } from 'graphql-yoga'
import { contextOf } from './context.js'
import { schema } from './schema.js'

const yoga = createYoga({
  schema,
  context: ({ req }) => contextOf(req.headers.authorization),
  graphiql: false,
  landingPage: false,
  logging: 'warn',
})

createServer(yoga).listen(Number(process.env.PORT), '127.0.0.1')
