import { useState } from 'react'
import { useQuery } from 'urql'
import { LoadMore } from '../components/LoadMore'
import { Loading, Notice } from '../components/Notice'
import { PostCard } from '../components/PostCard'
import { graphql } from '../gql'

const FeedQuery = graphql(`
  query Feed($after: String) {
    feed(first: 5, after: $after) {
      nodes {
        id
        ...PostCard
      }
      pageInfo {
        ...LoadMore
      }
    }
  }
`)

// The server sends a new answer when one of these counts changes. The cache hands it to every component that shows one.
const CountsQuery = graphql(`
  query Counts($ids: [ID!]!) @live {
    nodes(ids: $ids) {
      id
      ... on Post {
        likeCount
        commentCount
      }
    }
  }
`)

export function FeedPage() {
  const [after, setAfter] = useState<string | null>(null)
  const [{ data, error, fetching }] = useQuery({ query: FeedQuery, variables: { after } })
  const feed = data?.feed
  const ids = feed?.nodes.map((post) => post.id) ?? []
  useQuery({ query: CountsQuery, variables: { ids }, pause: ids.length === 0, requestPolicy: 'cache-and-network' })

  return (
    <>
      <title>Feed · Heartwood</title>
      <h1>Feed</h1>
      {feed?.nodes.map((post) => <PostCard key={post.id} post={post} />)}
      {fetching && !feed && <Loading />}
      <Notice error={error} />
      {feed && <LoadMore pageInfo={feed.pageInfo} fetching={fetching} onMore={setAfter} />}
    </>
  )
}
