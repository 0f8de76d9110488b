// DataLoaders per request: batched, and nothing is read twice.
import DataLoader from 'dataloader'
import { getItems, keyOf, query } from './table.js'
import { postOf, userOf } from './records.js'

const BATCH = 100
const REFILL = 100
const READS_A_PAGE = 10

export class Loaders {
  constructor(viewerId) {
    this.users = byId(
      (id) => keyOf(`USER#${id}`, 'PROFILE'),
      (item) => userOf(item, viewerId),
    )
    this.posts = byId((id) => keyOf(`POST#${id}`, 'METADATA'), postOf)
    this.likes = byId(
      (postId) => keyOf(`POST#${postId}`, `LIKE#${viewerId}`),
      (item) => item !== undefined,
    )
    this.counters = byId((key) => {
      const [postId, shard] = key.split('#')
      return keyOf(`POST#${postId}`, `COUNTER#${shard}`)
    }, (item) => item)
    // Resolves queries of one batch together, so that the loads they lead to are one batch again.
    this.ranges = new DataLoader((ranges) => Promise.all(ranges.map(query)), {
      cacheKeyFn: ({ index, pk, prefix, limit, start }) => `${index} ${pk} ${prefix} ${limit} ${start?.SK.S}`,
    })
  }

  // Returns the first `size` visible records. Reads one extra record, so hasNextPage is exact.
  async page(range, size, see) {
    const nodes = []
    let start
    for (let read = 0; read < READS_A_PAGE; read++) {
      const answer = await this.ranges.load({ ...range, limit: read ? REFILL : size + 1, start })
      const seen = see(answer.Items)
      for (const node of seen instanceof Promise ? await seen : seen) if (node !== null) nodes.push(node)
      start = answer.LastEvaluatedKey
      if (nodes.length > size || start === undefined) break
    }
    const hasNextPage = nodes.length > size || start !== undefined
    return { nodes: nodes.slice(0, size), pageInfo: { hasNextPage } }
  }

  async total(post, name, base) {
    const keys = Array.from({ length: post.counterShards }, (_, shard) => `${post.postId}#${shard}`)
    const shares = await Promise.all(keys.map((key) => this.counters.load(key)))
    return shares.reduce((sum, item) => sum + Number(item?.[name]?.N ?? 0), base)
  }
}

function byId(key, decode) {
  return new DataLoader(async (ids) => (await getItems(ids.map(key))).map(decode), { maxBatchSize: BATCH })
}
