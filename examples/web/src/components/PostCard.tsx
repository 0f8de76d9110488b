import { graphql, readFragment, type FragmentType } from '../gql'
import { Comments } from './Comments'
import { LikeButton } from './LikeButton'
import { Picture } from './Picture'
import { Time } from './Time'
import { UserLink } from './UserLink'

const PostCardFragment = graphql(`
  fragment PostCard on Post {
    id
    caption
    imageUrl
    createdAt
    author {
      id
      ...UserLink
    }
    ...LikeButton
    ...Comments
  }
`)

export function PostCard(props: { post: FragmentType<typeof PostCardFragment> }) {
  const post = readFragment(PostCardFragment, props.post)
  return (
    <article className="card">
      <header>
        <UserLink user={post.author} /> <Time at={post.createdAt} />
      </header>
      <Picture url={post.imageUrl} />
      {post.caption && <p className="caption">{post.caption}</p>}
      <LikeButton post={post} />
      <Comments post={post} />
    </article>
  )
}
