/** Relay's store over the live server: connections that grow, records that are fetched again by their id. */
import assert from "node:assert/strict";

import type { GraphQLTaggedNode, OperationType, RequestParameters, Variables } from "relay-runtime";
import {
  commitMutation,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getRequest,
  getSingularSelector,
  Network,
  RecordSource,
  Store,
} from "relay-runtime";

import feedFragment from "../generated/relay/documentsFeed_query.graphql.js";
import feedMore from "../generated/relay/documentsFeedPaginationQuery.graphql.js";
import feedQuery from "../generated/relay/documentsFeedQuery.graphql.js";
import like from "../generated/relay/documentsLikeMutation.graphql.js";
import postFragment from "../generated/relay/documentsPost_post.graphql.js";
import postRefetch from "../generated/relay/documentsPostRefetchQuery.graphql.js";
import { check, headers, there, url } from "./check.js";

type Page = { edges: { node: { id: string } }[]; pageInfo: { endCursor: string | null; hasNextPage: boolean } };

async function send(operation: RequestParameters, variables: Variables) {
  const body = JSON.stringify({ query: operation.text, variables });
  const response = await fetch(url, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body });
  const answer = await response.json();
  assert.equal(answer.errors, undefined);
  return answer;
}

const environment = new Environment({ network: Network.create(send), store: new Store(new RecordSource()) });

async function load(document: GraphQLTaggedNode, variables: Variables): Promise<void> {
  environment.retain(createOperationDescriptor(getRequest(document), variables));
  await fetchQuery<OperationType>(environment, document, variables).toPromise();
}

function read(fragment: unknown, owner: unknown): Record<string, unknown> {
  const selector = there(getSingularSelector(fragment as never, owner));
  return environment.lookup(selector).data as Record<string, unknown>;
}

function feed(): Page {
  const operation = createOperationDescriptor(getRequest(feedQuery), { count: 2 });
  return read(feedFragment, environment.lookup(operation.fragment).data).feed as Page;
}

await load(feedQuery, { count: 2 });

await check("Relay: a paginated fragment grows by a page", async () => {
  const { pageInfo } = feed();
  await load(feedMore, { count: 2, cursor: pageInfo.endCursor });
  const ids = feed().edges.map((each) => each.node.id);
  assert.deepEqual([ids.length, new Set(ids).size], [4, 4]);
});

await check("Relay: a fragment is fetched again by the id of its record", async () => {
  const { node } = there(feed().edges[0]);
  await load(postRefetch, { id: node.id, count: 1 });
  assert.equal(typeof read(postFragment, node).likeCount, "number");
});

await check("Relay: the payload of a mutation updates fragments", async () => {
  const { node } = there(feed().edges[3]);
  await new Promise((resolve, reject) => {
    commitMutation(environment, {
      mutation: like,
      variables: { input: { postId: node.id } },
      onCompleted: resolve,
      onError: reject,
    });
  });
  assert.equal(read(postFragment, node).viewerHasLiked, true);
});
