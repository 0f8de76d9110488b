// Table access with the low-level client of the AWS SDK, which avoids a second pass over every attribute.
import { Agent } from 'node:http'
import {
  BatchGetItemCommand,
  DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { NodeHttpHandler } from '@smithy/node-http-handler'

const TableName = process.env.TABLE_NAME

const client = new DynamoDBClient({
  endpoint: process.env.DYNAMODB_ENDPOINT,
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  // Without a custom logger, the SDK copies every response for a no-op logger: a third of the CPU of a large batch.
  logger: { trace() {}, debug() {}, warn: console.warn, error: console.error },
  requestHandler: new NodeHttpHandler({ httpAgent: new Agent({ keepAlive: true, maxSockets: 64 }) }),
})

export const keyOf = (pk, sk) => ({ PK: { S: pk }, SK: { S: sk } })

export async function getItem(key, { consistent = false } = {}) {
  const answer = await client.send(new GetItemCommand({ TableName, Key: key, ConsistentRead: consistent }))
  return answer.Item
}

// Returns items in the order of up to 100 unique keys, undefined for missing ones.
export async function getItems(keys) {
  if (keys.length === 1) return [await getItem(keys[0])]
  const found = new Map()
  let RequestItems = { [TableName]: { Keys: keys } }
  while (RequestItems?.[TableName]) {
    const answer = await client.send(new BatchGetItemCommand({ RequestItems }))
    for (const item of answer.Responses[TableName]) found.set(`${item.PK.S} ${item.SK.S}`, item)
    RequestItems = answer.UnprocessedKeys
  }
  return keys.map((key) => found.get(`${key.PK.S} ${key.SK.S}`))
}

export function query({ index, pk, prefix, limit, start, newestFirst = false }) {
  return client.send(
    new QueryCommand({
      TableName,
      IndexName: index,
      KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :sk)',
      ExpressionAttributeNames: { '#pk': index ? `${index}PK` : 'PK', '#sk': index ? `${index}SK` : 'SK' },
      ExpressionAttributeValues: { ':pk': { S: pk }, ':sk': { S: prefix } },
      ScanIndexForward: !newestFirst,
      Limit: limit,
      ExclusiveStartKey: start,
    }),
  )
}

// `writes` are Put, Update, Delete or ConditionCheck, without a table name.
export function transact(token, writes) {
  const TransactItems = writes.map((write) => {
    const [verb, request] = Object.entries(write)[0]
    return { [verb]: { TableName, ...request } }
  })
  return client.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: token }))
}
