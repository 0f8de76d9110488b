/** urql with the normalized cache Graphcache, over answers of the live server. */
import assert from "node:assert/strict";

import { Client, fetchExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import type { IntrospectionQuery } from "graphql";
import { getIntrospectionQuery } from "graphql";

import * as documents from "../generated/graphql/graphql.js";
import { check, eventually, headers, there, unique, url } from "./check.js";

const body = JSON.stringify({ query: getIntrospectionQuery() });
const response = await fetch(url, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body });
const schema = ((await response.json()) as { data: IntrospectionQuery }).data;
const embedded = schema.__schema.types.filter(
  (type) => type.kind === "OBJECT" && !type.fields.some((field) => field.name === "id"),
);
const warnings: string[] = [];
const client = new Client({
  url,
  fetchOptions: { headers },
  preferGetMethod: false,
  exchanges: [
    cacheExchange({
      schema,
      keys: Object.fromEntries(embedded.map((type) => [type.name, () => null])),
      logger: (_, message) => warnings.push(message),
      resolvers: { Query: { feed: relayPagination() }, Post: { comments: relayPagination() } },
    }),
    fetchExchange,
  ],
});

const input = { imageUrl: "https://example.org/1.jpg", caption: `urql ${unique}` };
const created = await client.mutation(documents.CreatePostDocument, { input }).toPromise();
const post = there(there(there(created.data).createPost).post);

await check("urql: the payload of a mutation updates other queries", async () => {
  const before = await client.query(documents.FeedDocument, { first: 3 }).toPromise();
  assert.equal(there(there(before.data).feed).edges[0]?.node.id, post.id);
  await client.mutation(documents.LikePostDocument, { input: { postId: post.id } }).toPromise();
  const edit = { postId: post.id, caption: "Updated in the cache" };
  await client.mutation(documents.UpdatePostDocument, { input: edit }).toPromise();
  const after = there(client.readQuery(documents.FeedDocument, { first: 3 }, { requestPolicy: "cache-only" }));
  const { caption, likeCount, viewerHasLiked } = there(there(there(after.data).feed).edges[0]).node;
  assert.deepEqual([caption, likeCount, viewerHasLiked], [edit.caption, 1, true]);
});

await check("urql: relayPagination merges the pages of a root field", async () => {
  const first = there(there((await client.query(documents.FeedDocument, { first: 3 }).toPromise()).data).feed);
  const after = there(first.pageInfo.endCursor);
  const merged = await client.query(documents.FeedDocument, { first: 3, after }).toPromise();
  const ids = there(there(merged.data).feed).edges.map((each) => each.node.id);
  assert.deepEqual([ids.length, new Set(ids).size], [6, 6]);
});

await check("urql: relayPagination merges the pages of a record's field", async () => {
  for (const content of ["one", "two", "three"]) {
    await client.mutation(documents.AddCommentDocument, { input: { postId: post.id, content } }).toPromise();
  }
  const query = { id: post.id, first: 2 };
  const shown = there((await client.query(documents.PostWithCommentsDocument, query).toPromise()).data).post;
  const after = there(there(there(shown).comments).pageInfo.endCursor);
  const all = there((await client.query(documents.PostWithCommentsDocument, { ...query, after }).toPromise()).data).post;
  assert.equal(there(there(all).comments).edges.length, 3);
});

await check("urql: objects without an id stay with their record", async () => {
  const titles = [`First ${unique}`, `Second ${unique}`] as const;
  const made = await client.mutation(documents.CreateContentDocument, { input: { title: titles[0] } }).toPromise();
  const content = there(there(there(made.data).createContent).content);
  const change = { contentId: content.id, expectedVersion: content.version, title: titles[1] };
  await client.mutation(documents.UpdateContentDocument, { input: change }).toPromise();
  const found = await eventually(async () => {
    await client.query(documents.AuditDocument, { first: 10 }, { requestPolicy: "network-only" }).toPromise();
    const log = there(client.readQuery(documents.AuditDocument, { first: 10 }, { requestPolicy: "cache-only" }));
    const shown = there(there(log.data).auditLog).nodes.map((each) => each.target.title);
    return shown.filter((each) => each.endsWith(unique)).length > 1 && shown.slice(0, 2);
  });
  assert.deepEqual(found, [titles[1], titles[0]]);
});

await check("urql: Graphcache finds nothing to warn about", async () => {
  assert.deepEqual(warnings, []);
});
