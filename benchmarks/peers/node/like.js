// Likes a post: like, count, account check and notification in one transaction.
import { randomInt, randomUUID } from 'node:crypto'
import { monotonicFactory } from 'ulid'
import { getItem, keyOf, transact } from './table.js'
import { partsOf, postOf } from './records.js'

const NOTIFICATIONS_KEPT = 30 * 24 * 3600
const newId = monotonicFactory()

const refused = (code, message, ...path) => ({ post: null, problems: [{ code, message, path }] })
const noSuchPost = () => refused('NOT_FOUND', 'there is no such post', 'input', 'postId')

export async function likePost(_, { input }, { load, viewerId }) {
  if (!viewerId) return refused('UNAUTHENTICATED', 'sign in first: send `Authorization: Bearer <token>`')
  const postId = partsOf(input.postId)[1]
  let post = await load.posts.load(postId)
  for (let attempt = 0; post && attempt < 3; attempt++) {
    const failed = await write(post, viewerId)
    if (failed === ACCOUNT) return refused('NOT_FOUND', 'there is no open account for this token')
    post = postOf(await getItem(keyOf(`POST#${postId}`, 'METADATA'), { consistent: true }))
    if (failed === COUNTER) continue
    load.likes.prime(postId, true)
    return post ? { post, problems: [] } : noSuchPost()
  }
  return post ? refused('CONFLICT', 'too much is happening to this post; try again') : noSuchPost()
}

const LIKE = 0
const COUNTER = 1
const ACCOUNT = 2

// Returns the reason why the transaction was canceled, if any.
async function write(post, viewerId) {
  const now = new Date().toISOString()
  const writes = [like(post, viewerId, now), counter(post), account(viewerId)]
  if (post.userId !== viewerId) writes.push(notification(post, viewerId, now))
  try {
    await transact(randomUUID(), writes)
    return null
  } catch (error) {
    if (error.name !== 'TransactionCanceledException') throw error
    const failed = error.CancellationReasons.map(({ Code }) => Code !== 'None')
    return failed[ACCOUNT] ? ACCOUNT : failed[LIKE] ? LIKE : COUNTER
  }
}

function like({ postId }, viewerId, now) {
  return {
    Put: {
      Item: {
        ...keyOf(`POST#${postId}`, `LIKE#${viewerId}`),
        GSI1PK: { S: `USER#${viewerId}` },
        GSI1SK: { S: `LIKE#${now}#${postId}` },
        entityType: { S: 'Like' },
        schemaVersion: { N: '1' },
        postId: { S: postId },
        userId: { S: viewerId },
        createdAt: { S: now },
        updatedAt: { S: now },
      },
      ConditionExpression: 'attribute_not_exists(PK)',
    },
  }
}

function counter({ postId, counterShards }) {
  const one = { UpdateExpression: 'ADD likeCount :one', ExpressionAttributeValues: { ':one': { N: '1' } } }
  if (counterShards) {
    const Key = keyOf(`POST#${postId}`, `COUNTER#${randomInt(counterShards)}`)
    return { Update: { ...one, Key, ConditionExpression: 'attribute_exists(PK)' } }
  }
  const isListed =
    'attribute_exists(PK) AND attribute_not_exists(deletedAt) AND attribute_not_exists(hiddenAt) ' +
    'AND attribute_not_exists(counterShards)'
  return { Update: { ...one, Key: keyOf(`POST#${postId}`, 'METADATA'), ConditionExpression: isListed } }
}

function account(viewerId) {
  const isOpen = 'attribute_exists(PK) AND attribute_not_exists(deletedAt)'
  return { ConditionCheck: { Key: keyOf(`USER#${viewerId}`, 'PROFILE'), ConditionExpression: isOpen } }
}

function notification({ postId, userId }, viewerId, now) {
  const notificationId = newId()
  return {
    Put: {
      Item: {
        ...keyOf(`USER#${userId}`, `NOTIFICATION#${now}#${notificationId}`),
        entityType: { S: 'Notification' },
        schemaVersion: { N: '1' },
        userId: { S: userId },
        notificationId: { S: notificationId },
        kind: { S: 'LIKE' },
        actorId: { S: viewerId },
        postId: { S: postId },
        createdAt: { S: now },
        updatedAt: { S: now },
        expiresAt: { N: String(Math.floor(Date.now() / 1000) + NOTIFICATIONS_KEPT) },
      },
    },
  }
}
