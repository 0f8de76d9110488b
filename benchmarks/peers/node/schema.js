// The schema with its resolvers, shared by the Node servers.
import { readFileSync } from 'node:fs'
import { makeExecutableSchema } from '@graphql-tools/schema'
import { GraphQLError } from 'graphql'
import { likePost } from './like.js'
import { commentOf, partsOf, postOf, userOf } from './records.js'

const MAX_IDS = 100
const FEW = 5

const typeDefs = readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8')

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
