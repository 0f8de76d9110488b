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

export function FeedPage() {
  const [after, setAfter] = useState<string | null>(null)
  const [{ data, error, fetching }] = useQuery({ query: FeedQuery, variables: { after } })
  const feed = data?.feed

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
