// Mercurius on Fastify. Compiles a query the second time it runs.
import Fastify from 'fastify'
import mercurius from 'mercurius'
import { contextOf } from './context.js'
import { schema } from './schema.js'

const app = Fastify()

app.register(mercurius, {
  schema,
  context: (request) => contextOf(request.headers.authorization),
  jit: 1,
})

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
