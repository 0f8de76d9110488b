import { cacheExchange } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import { retryExchange } from '@urql/exchange-retry'
import { Client, fetchExchange, makeOperation, mapExchange } from 'urql'
import { appendComment } from './components/Comments'
import { optimisticLikes } from './components/LikeButton'

/** Creates a GraphQL client. It calls `onTokenRefused` with the reason if the server no longer accepts the token. */
export function createClient(token: string | null, onTokenRefused: (message: string) => void): Client {
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {}

  /** Gives each mutation a key. With it, a mutation that is sent again is applied only once. */
  const idempotencyKeys = mapExchange({
    onOperation(operation) {
      if (operation.kind !== 'mutation') return operation
      const fetchOptions = { headers: { ...headers, 'idempotency-key': crypto.randomUUID() } }
      return makeOperation(operation.kind, operation, { ...operation.context, fetchOptions })
    },
  })

  // The cache stores every object that has an `id` once. Objects without an `id` are part of their parent.
  const cache = cacheExchange({
    // Lists show all pages that were loaded so far.
    resolvers: {
      Query: { feed: relayPagination() },
      User: { posts: relayPagination() },
      Post: { comments: relayPagination() },
      Tree: { persons: relayPagination() },
    },
    optimistic: optimisticLikes,
    updates: { Mutation: { addComment: appendComment } },
  })

  const retries = retryExchange({
    maxNumberAttempts: 3,
    retryIf: (error) =>
      error.networkError !== undefined || error.graphQLErrors.some(({ extensions }) => extensions.retryable === true),
  })

  const session = mapExchange({
    onError(error) {
      if (token && error.response?.status === 401) onTokenRefused(error.graphQLErrors[0]?.message ?? error.message)
    },
  })

  return new Client({
    url: '/graphql',
    fetchOptions: { headers },
    // POST keeps variables out of URLs, and so out of the logs of proxies.
    preferGetMethod: false,
    exchanges: [idempotencyKeys, cache, retries, session, fetchExchange],
  })
}
