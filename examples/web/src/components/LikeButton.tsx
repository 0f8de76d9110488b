import type { OptimisticMutationResolver } from '@urql/exchange-graphcache'
import { useMutation } from 'urql'
import { useLocation } from 'wouter'
import { graphql, readFragment, type FragmentType } from '../gql'
import { useSession } from '../session'
import { Notice } from './Notice'

const LikeButtonFragment = graphql(`
  fragment LikeButton on Post {
    id
    likeCount
    viewerHasLiked
  }
`)

// The cache finds the post of the payload by its `id`, so every component that shows it is updated.
const LikePost = graphql(`
  mutation LikePost($postId: ID!) {
    result: likePost(input: { postId: $postId }) {
      post {
        id
        ...LikeButton
      }
      problems {
        ...Problems
      }
    }
  }
`)

const UnlikePost = graphql(`
  mutation UnlikePost($postId: ID!) {
    result: unlikePost(input: { postId: $postId }) {
      post {
        id
        ...LikeButton
      }
      problems {
        ...Problems
      }
    }
  }
`)

/** Changes the button before the server answers. If the answer differs, the cache takes this back. */
const toggled =
  (viewerHasLiked: boolean): OptimisticMutationResolver<{ input: { postId: string } }> =>
  ({ input }, cache) => {
    const post = { __typename: 'Post', id: input.postId }
    const before = cache.resolve(post, 'likeCount')
    const likeCount = typeof before === 'number' ? before + (viewerHasLiked ? 1 : -1) : null
    return { __typename: 'Payload', post: { ...post, likeCount, viewerHasLiked }, problems: [] }
  }

export const optimisticLikes = { likePost: toggled(true), unlikePost: toggled(false) }

/** A field that could not be read is null, and the page shows the error. The rest of the post is still there. */
export function LikeButton(props: { post: FragmentType<typeof LikeButtonFragment> }) {
  const { id, likeCount, viewerHasLiked } = readFragment(LikeButtonFragment, props.post)
  const { token } = useSession()
  const [, navigate] = useLocation()
  const [{ data, error, fetching }, toggle] = useMutation(viewerHasLiked ? UnlikePost : LikePost)

  const onClick = () => {
    if (!token) navigate('/sign-in')
    else if (!fetching) void toggle({ postId: id })
  }

  return (
    <>
      <button type="button" className="like" aria-pressed={viewerHasLiked ?? false} onClick={onClick}>
        <span aria-hidden="true">{viewerHasLiked ? '♥' : '♡'}</span> {likeCount ?? '?'}{' '}
        {likeCount === 1 ? 'like' : 'likes'}
      </button>
      <Notice error={error} problems={data?.result?.problems} />
    </>
  )
}
