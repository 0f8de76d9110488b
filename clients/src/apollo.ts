/** Apollo Client's normalized cache over answers of the live server. */
import assert from "node:assert/strict";

import { ApolloClient, CombinedGraphQLErrors, HttpLink, InMemoryCache } from "@apollo/client";
import { relayStylePagination } from "@apollo/client/utilities";

import * as documents from "../generated/graphql/graphql.js";
import { check, eventually, headers, there, unique, url } from "./check.js";

const cache = new InMemoryCache({
  typePolicies: {
    Query: { fields: { feed: relayStylePagination() } },
    Tree: { fields: { persons: relayStylePagination() } },
  },
});
const client = new ApolloClient({ link: new HttpLink({ uri: url, headers }), cache });

/** Fetches the next page into the cache, as a button "more" does. */
async function more(query: ApolloClient.WatchQueryOptions, page: { endCursor?: string | null }): Promise<void> {
  const observed = client.watchQuery(query);
  const subscription = observed.subscribe({});
  await observed.fetchMore({ variables: { after: page.endCursor } });
  subscription.unsubscribe();
}

const input = { imageUrl: "https://example.org/1.jpg", caption: `Apollo ${unique}` };
const created = there((await client.mutate({ mutation: documents.CreatePostDocument, variables: { input } })).data);
const post = there(there(created.createPost).post);

await check("Apollo: records are normalized by id", async () => {
  await client.query({ query: documents.FeedDocument, variables: { first: 3 } });
  const feed = there(client.readQuery({ query: documents.FeedDocument, variables: { first: 3 } })?.feed);
  const stored = cache.extract();
  for (const { node } of feed.edges) {
    assert.equal((stored[`Post:${node.id}`] as { caption?: string }).caption, node.caption);
    assert.ok(stored[`User:${there(node.author).id}`]);
  }
  assert.equal(feed.edges[0]?.node.id, post.id);
});

await check("Apollo: the payload of a mutation updates other queries", async () => {
  await client.mutate({ mutation: documents.LikePostDocument, variables: { input: { postId: post.id } } });
  const edit = { postId: post.id, caption: "Updated in the cache" };
  await client.mutate({ mutation: documents.UpdatePostDocument, variables: { input: edit } });
  const feed = there(client.readQuery({ query: documents.FeedDocument, variables: { first: 3 } })?.feed);
  const { caption, likeCount, viewerHasLiked } = there(feed.edges[0]).node;
  assert.deepEqual([caption, likeCount, viewerHasLiked], [edit.caption, 1, true]);
});

await check("Apollo: relayStylePagination merges the pages of a root field", async () => {
  const query = { query: documents.FeedDocument, variables: { first: 3 } };
  const { pageInfo } = there(there((await client.query(query)).data).feed);
  await more(query, pageInfo);
  const merged = there(client.readQuery(query)?.feed);
  assert.equal(merged.edges.length, 6);
  assert.equal(new Set(merged.edges.map((each) => each.node.id)).size, 6);
});

await check("Apollo: relayStylePagination merges the pages of a record's field", async () => {
  const mine = await client.query({ query: documents.TreesOfViewerDocument, variables: { first: 10 } });
  const trees = there(there(there(mine.data).viewer).trees).nodes;
  const { id } = there([...trees].sort((one, other) => other.personCount - one.personCount)[0]);
  const query = { query: documents.FamilyDocument, variables: { id, first: 2 } };
  const { pageInfo } = there(there(there((await client.query(query)).data).tree).persons);
  await more(query, pageInfo);
  assert.equal(there(there(client.readQuery(query)?.tree).persons).edges.length, 4);
});

await check("Apollo: objects without an id stay with their record", async () => {
  const first = `Before ${unique}`;
  const second = `After ${unique}`;
  const page = { input: { title: first } };
  const made = await client.mutate({ mutation: documents.CreateContentDocument, variables: page });
  const content = there(there(there(made.data).createContent).content);
  const change = { contentId: content.id, expectedVersion: content.version, title: second };
  await client.mutate({ mutation: documents.UpdateContentDocument, variables: { input: change } });
  const query = { query: documents.AuditDocument, variables: { first: 10 } };
  const titles = await eventually(async () => {
    await client.query({ ...query, fetchPolicy: "network-only" });
    const log = there(client.readQuery(query)?.auditLog);
    const found = log.nodes.map((each) => each.target.title).filter((each) => each.endsWith(unique));
    return found.length > 1 && found;
  });
  assert.deepEqual(titles, [second, first]);
});

await check("Apollo: two aliases of one connection with different arguments do not mix", async () => {
  const small = await client.query({ query: documents.TopCardsDocument, variables: { first: 1 } });
  const large = await client.query({ query: documents.TopCardsDocument, variables: { first: 3 } });
  assert.deepEqual([there(there(small.data).topCards).nodes.length, there(there(large.data).topCards).nodes.length], [1, 3]);
});

await check("Apollo: the error of a field has a code and leaves its neighbors", async () => {
  const { authorization, ...anonymous } = headers;
  assert.ok(authorization);
  const link = new HttpLink({ uri: url, headers: anonymous });
  const visitor = new ApolloClient({ link, cache: new InMemoryCache() });
  const query = { query: documents.DashboardDocument, variables: { first: 1 } };
  const { data, error } = await visitor.query({ ...query, errorPolicy: "all" });
  assert.ok(CombinedGraphQLErrors.is(error));
  assert.deepEqual(error.errors.map((each) => [each.path, each.extensions?.code]), [[["auditLog"], "UNAUTHENTICATED"]]);
  assert.deepEqual([there(data).auditLog, there(there(data).products).nodes.length], [null, 1]);
});
