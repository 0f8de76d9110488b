// The part of Heartwood's schema that the queries use, shared by the Node servers.
import { makeExecutableSchema } from '@graphql-tools/schema'
import { GraphQLError } from 'graphql'
import { likePost } from './like.js'
import { commentOf, partsOf, postOf, userOf } from './records.js'

const MAX_IDS = 100
const FEW = 5

const typeDefs = /* GraphQL */ `
  scalar DateTime

  interface Node {
    id: ID!
  }

  type User implements Node {
    id: ID!
    username: String!
    displayName: String
    bio: String
    followerCount: Int!
    followingCount: Int!
    postCount: Int!
    followers(first: Int = 20): UserFollowersConnection
    posts(first: Int = 20): UserPostsConnection
  }

  type Post implements Node {
    id: ID!
    imageUrl: String!
    caption: String
    createdAt: DateTime!
    likeCount: Int!
    commentCount: Int!
    viewerHasLiked: Boolean!
    author: User
    comments(first: Int = 20): PostCommentsConnection
  }

  type Comment implements Node {
    id: ID!
    content: String!
    createdAt: DateTime!
    author: User
  }

  type PageInfo {
    hasNextPage: Boolean!
  }

  type UserFollowersConnection {
    nodes: [User!]!
    pageInfo: PageInfo!
    totalCount: Int!
  }

  type UserPostsConnection {
    nodes: [Post!]!
    pageInfo: PageInfo!
    totalCount: Int!
  }

  type PostCommentsConnection {
    nodes: [Comment!]!
    pageInfo: PageInfo!
    totalCount: Int!
  }

  type PostConnection {
    nodes: [Post!]!
    pageInfo: PageInfo!
  }

  type Query {
    node(id: ID!): Node
    nodes(ids: [ID!]!): [Node]
    user(by: UserBy!): User
    post(by: PostBy!): Post
    feed(first: Int = 20): PostConnection
  }

  input UserBy {
    id: ID
    username: String
  }

  input PostBy {
    id: ID
  }

  input LikePostInput {
    postId: ID!
  }

  enum ProblemCode {
    INVALID
    TAKEN
    NOT_FOUND
    UNAUTHENTICATED
    FORBIDDEN
    CONFLICT
    RATE_LIMITED
  }

  type Problem {
    code: ProblemCode!
    message: String!
    path: [String!]!
  }

  type PostPayload {
    problems: [Problem!]!
    post: Post
  }

  type Mutation {
    likePost(input: LikePostInput!): PostPayload
  }
`

function keyOf(id, type) {
  const [found, value] = partsOf(id)
  if (found !== type || !value) throw new GraphQLError(`${id} is not the id of a ${type}`)
  return value
}

function node(id, load) {
  const [type, value] = partsOf(id)
  if (type === 'User') return load.users.load(value)
  if (type === 'Post') return load.posts.load(value)
  throw new GraphQLError(`${id} is not an id`)
}

const author = (work, _, { load }) => load.users.load(work.userId)
const likeCount = (post, _, { load }) => (post.counterShards ? load.total(post, 'likeCount', post.likes) : post.likes)
const commentCount = (post, _, { load }) =>
  post.counterShards ? load.total(post, 'commentCount', post.saidCount) : post.saidCount

const resolvers = {
  Query: {
    node: (_, { id }, { load }) => node(id, load),
    nodes(_, { ids }, { load }) {
      if (ids.length > MAX_IDS) throw new GraphQLError(`ask for ${MAX_IDS} at a time`)
      return ids.map((id) => node(id, load))
    },
    async user(_, { by: { id, username } }, { load, viewerId }) {
      if (id) return load.users.load(keyOf(id, 'User'))
      const pk = `USERNAME#${username.trim().toLowerCase()}`
      const { Items } = await load.ranges.load({ index: 'GSI1', pk, prefix: 'USER', limit: FEW })
      return Items.map((item) => userOf(item, viewerId)).find((user) => user !== null)
    },
    post: (_, { by: { id } }, { load }) => load.posts.load(keyOf(id, 'Post')),
    feed: (_, { first }, { load }) =>
      load.page({ index: 'GSI3', pk: 'FEED', prefix: 'POST#', newestFirst: true }, first, (items) => items.map(postOf)),
  },
  Mutation: { likePost },
  User: {
    async followers(user, { first }, { load }) {
      const range = { index: 'GSI2', pk: `USER#${user.userId}`, prefix: 'FOLLOWER#', newestFirst: true }
      const follower = (item) => load.users.load(item.followerId.S)
      const page = await load.page(range, first, (items) => Promise.all(items.map(follower)))
      page.totalCount = user.followerCount
      return page
    },
    async posts(user, { first }, { load }) {
      const range = { index: 'GSI1', pk: `USER#${user.userId}`, prefix: 'POST#', newestFirst: true }
      const page = await load.page(range, first, (items) => items.map(postOf))
      page.totalCount = user.postCount
      return page
    },
  },
  Post: {
    author,
    likeCount,
    commentCount,
    async comments(post, { first }, { load }) {
      const range = { pk: `POST#${post.postId}`, prefix: 'COMMENT#' }
      const page = await load.page(range, first, (items) => items.map(commentOf))
      page.post = post
      return page
    },
    viewerHasLiked: (post, _, { load, viewerId }) => (viewerId ? load.likes.load(post.postId) : false),
  },
  PostCommentsConnection: { totalCount: ({ post }, _, context) => commentCount(post, _, context) },
  Comment: { author },
}

export const schema = makeExecutableSchema({ typeDefs, resolvers })
