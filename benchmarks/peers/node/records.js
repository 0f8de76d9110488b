// Decodes items into objects with the fields that the schema and the visibility rules use.
const globalId = (...parts) => Buffer.from(parts.join('#')).toString('base64url')

// Decodes an ID into its type and key values.
export const partsOf = (id) => Buffer.from(id, 'base64url').toString().split('#')

const number = (attribute) => (attribute === undefined ? 0 : Number(attribute.N))

// DynamoDB may remove an expired item days later.
const isGone = (item) =>
  item === undefined || (item.expiresAt !== undefined && Number(item.expiresAt.N) <= Date.now() / 1000)

export function userOf(item, viewerId) {
  if (isGone(item) || (item.deletedAt !== undefined && item.userId.S !== viewerId)) return null
  return {
    __typename: 'User',
    id: globalId('User', item.userId.S),
    userId: item.userId.S,
    username: item.username.S,
    displayName: item.displayName?.S,
    bio: item.bio?.S,
    followerCount: number(item.followerCount),
    followingCount: number(item.followingCount),
    postCount: number(item.postCount),
  }
}

export function postOf(item) {
  if (isGone(item) || item.deletedAt !== undefined || item.hiddenAt !== undefined) return null
  return {
    __typename: 'Post',
    id: globalId('Post', item.postId.S),
    postId: item.postId.S,
    userId: item.userId.S,
    imageUrl: item.imageUrl.S,
    caption: item.caption?.S,
    createdAt: item.createdAt.S,
    likes: number(item.likeCount),
    saidCount: number(item.commentCount),
    counterShards: number(item.counterShards),
  }
}

export function commentOf(item) {
  if (isGone(item) || item.hiddenAt !== undefined) return null
  return {
    __typename: 'Comment',
    id: globalId('Comment', item.postId.S, item.createdAt.S, item.commentId.S),
    userId: item.userId.S,
    content: item.content.S,
    createdAt: item.createdAt.S,
  }
}
