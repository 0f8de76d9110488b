import type { Cache } from '@urql/exchange-graphcache'
import { useId, useState } from 'react'
import { useMutation, useQuery } from 'urql'
import { Link } from 'wouter'
import { graphql, readFragment, type FragmentType } from '../gql'
import type { AddCommentMutation } from '../gql/graphql'
import { useSession } from '../session'
import { Notice } from './Notice'
import { Time } from './Time'
import { UserLink } from './UserLink'

const CommentFragment = graphql(`
  fragment Comment on Comment {
    id
    content
    createdAt
    author {
      id
      ...UserLink
    }
  }
`)

const CommentsFragment = graphql(`
  fragment Comments on Post {
    id
    commentCount
    comments(last: 2) {
      nodes {
        id
        ...Comment
      }
      pageInfo {
        hasPreviousPage
        startCursor
      }
    }
  }
`)

const EarlierComments = graphql(`
  query EarlierComments($postId: ID!, $before: String) {
    post(by: { id: $postId }) {
      id
      comments(last: 20, before: $before) {
        nodes {
          id
          ...Comment
        }
        pageInfo {
          hasPreviousPage
          startCursor
        }
      }
    }
  }
`)

const AddComment = graphql(`
  mutation AddComment($postId: ID!, $content: String!) {
    addComment(input: { postId: $postId, content: $content }) {
      comment {
        id
        ...Comment
        post {
          id
          commentCount
        }
      }
      problems {
        ...Problems
      }
    }
  }
`)

/** Adds a new comment to the end of the list in the cache. Everything else of the payload finds its place by its `id`. */
export function appendComment(result: AddCommentMutation, _args: unknown, cache: Cache) {
  const comment = result.addComment?.comment
  if (!comment?.post) return
  const list = cache.resolve({ __typename: 'Post', id: comment.post.id }, 'comments', { last: 2 })
  if (typeof list !== 'string') return
  const nodes = cache.resolve(list, 'nodes') as string[]
  cache.link(list, 'nodes', [...nodes, cache.keyOfEntity({ __typename: 'Comment', id: comment.id })])
}

export function Comments(props: { post: FragmentType<typeof CommentsFragment> }) {
  const post = readFragment(CommentsFragment, props.post)
  const { token } = useSession()
  const [before, setBefore] = useState<string | null>(null)
  const [{ error, fetching }] = useQuery({
    query: EarlierComments,
    variables: { postId: post.id, before },
    pause: before === null,
  })
  const { nodes = [], pageInfo } = post.comments ?? {}

  return (
    <section className="comments">
      {pageInfo?.hasPreviousPage && (
        <button type="button" className="quiet" disabled={fetching} onClick={() => setBefore(pageInfo.startCursor)}>
          {fetching ? 'Loading …' : 'Show earlier comments'}
        </button>
      )}
      <Notice error={error} />
      <ol aria-label={`Comments: ${post.commentCount}`}>
        {nodes.map((comment) => (
          <CommentItem key={comment.id} comment={comment} />
        ))}
      </ol>
      {token ? (
        <CommentForm postId={post.id} />
      ) : (
        <p className="hint">
          <Link href="/sign-in">Sign in</Link> to comment.
        </p>
      )}
    </section>
  )
}

function CommentItem(props: { comment: FragmentType<typeof CommentFragment> }) {
  const { author, content, createdAt } = readFragment(CommentFragment, props.comment)
  return (
    <li>
      <UserLink user={author} /> <Time at={createdAt} />
      <p>{content}</p>
    </li>
  )
}

function CommentForm({ postId }: { postId: string }) {
  const [content, setContent] = useState('')
  const [{ data, error, fetching }, addComment] = useMutation(AddComment)
  const problems = data?.addComment?.problems ?? []
  const notice = useId()

  const submit = async () => {
    const { data } = await addComment({ postId, content })
    if (data?.addComment?.comment) setContent('')
  }

  return (
    <form action={submit}>
      <input
        aria-label="Your comment"
        aria-describedby={problems.length ? notice : undefined}
        aria-invalid={problems.length > 0}
        placeholder="Write a comment …"
        value={content}
        onChange={(event) => setContent(event.target.value)}
      />
      <button disabled={fetching}>{fetching ? 'Sending …' : 'Send'}</button>
      <Notice id={notice} error={error} problems={problems} />
    </form>
  )
}
