// What a request has: who asks, by the bearer token, and loaders of its own.
import { createVerifier } from 'fast-jwt'
import { GraphQLError } from 'graphql'
import { Loaders } from './loaders.js'

const verify = createVerifier({
  key: process.env.AUTH_SECRET,
  algorithms: ['HS256'],
  requiredClaims: ['sub', 'exp'],
  clockTolerance: 30_000,
  cache: true,
})

export function contextOf(authorization) {
  const viewerId = authorization === undefined ? null : viewerOf(authorization)
  return { viewerId, load: new Loaders(viewerId) }
}

function viewerOf(authorization) {
  try {
    return verify(authorization.replace(/^bearer /i, '')).sub
  } catch {
    throw new GraphQLError('the token is not valid', { extensions: { code: 'UNAUTHENTICATED', http: { status: 401 } } })
  }
}
