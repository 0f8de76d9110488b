import { useState } from 'react'
import { useQuery } from 'urql'
import { Link } from 'wouter'
import { Avatar } from '../components/Avatar'
import { LoadMore } from '../components/LoadMore'
import { Loading, Notice } from '../components/Notice'
import { PostCard } from '../components/PostCard'
import { Time } from '../components/Time'
import { graphql } from '../gql'

const ProfileQuery = graphql(`
  query Profile($username: String!, $after: String) {
    user(by: { username: $username }) {
      id
      username
      displayName
      bio
      createdAt
      postCount
      followerCount
      followingCount
      trees(first: 10) {
        nodes {
          id
          databaseId
          name
        }
      }
      posts(first: 5, after: $after) {
        nodes {
          id
          ...PostCard
        }
        pageInfo {
          ...LoadMore
        }
      }
    }
  }
`)

export function ProfilePage({ username }: { username: string }) {
  const [after, setAfter] = useState<string | null>(null)
  const [{ data, error, fetching }] = useQuery({ query: ProfileQuery, variables: { username, after } })
  const user = data?.user

  if (!user) {
    return (
      <>
        <title>{`${username} · Heartwood`}</title>
        <h1>{username}</h1>
        {fetching ? <Loading /> : error ? <Notice error={error} /> : <p>There is no such user.</p>}
      </>
    )
  }

  const name = user.displayName ?? user.username
  return (
    <>
      <title>{`${name} · Heartwood`}</title>
      <section className="card profile">
        <Avatar name={name} />
        <h1>{name}</h1>
        <p className="hint">
          @{user.username} · since <Time at={user.createdAt} />
        </p>
        {user.bio && <p>{user.bio}</p>}
        <dl>
          <Count label="Posts" value={user.postCount} />
          <Count label="Followers" value={user.followerCount} />
          <Count label="Following" value={user.followingCount} />
        </dl>
        {user.trees?.nodes.map((tree) => (
          <p key={tree.id}>
            Family tree: <Link href={`/family/${tree.databaseId}`}>{tree.name}</Link>
          </p>
        ))}
      </section>
      {user.posts?.nodes.map((post) => <PostCard key={post.id} post={post} />)}
      <Notice error={error} />
      {user.posts && <LoadMore pageInfo={user.posts.pageInfo} fetching={fetching} onMore={setAfter} />}
    </>
  )
}

function Count({ label, value }: { label: string; value: number }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  )
}
