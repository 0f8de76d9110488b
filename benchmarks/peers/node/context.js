// Context of a request: the viewer from the bearer token, and its loaders.
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
