/** Deferred fragments and streamed lists, as Apollo Client, urql and Relay read them from the live server. */
import assert from "node:assert/strict";

import { ApolloClient, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQL17Alpha9Handler } from "@apollo/client/incremental";
import { Client, fetchExchange } from "@urql/core";
import type { GraphQLResponse, RequestParameters, Variables } from "relay-runtime";
import {
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getRequest,
  Network,
  Observable,
  RecordSource,
  Store,
} from "relay-runtime";

import relayQuery from "../generated/relay/incrementalQuery.graphql.js";
import { check, headers, there, url } from "./check.js";
import { Merging, parts } from "./parts.js";

type Author = { username: string };
type Feed = { feed: { nodes: { id: string; caption: string; author?: Author }[] } };

const DEFERRED = `query Deferred {
  feed(first: 3) { nodes { __typename id caption ... @defer(label: "author") { author { __typename id username } } } }
}`;
const STREAMED = `query Streamed {
  feed(first: 6) { nodes @stream(initialCount: 2) { __typename id caption } }
}`;

/** Remembers the media types of the answers. */
const answered: string[] = [];
const spying: typeof fetch = async (...given) => {
  const response = await fetch(...given);
  answered.push(response.headers.get("content-type") ?? "");
  return response;
};

async function apollo(query: string): Promise<Feed[]> {
  const client = new ApolloClient({
    link: new HttpLink({ uri: url, headers, fetch: spying }),
    cache: new InMemoryCache(),
    // Its type does not agree with `exactOptionalPropertyTypes`.
    incrementalHandler: new GraphQL17Alpha9Handler() as never,
  });
  const seen: Feed[] = [];
  await new Promise<void>((resolve, reject) => {
    client.watchQuery({ query: gql(query), fetchPolicy: "network-only", errorPolicy: "none" }).subscribe((result) => {
      if (result.error) reject(result.error);
      if (result.data) seen.push(result.data as unknown as Feed);
      if (result.dataState === "complete" && !result.loading) resolve();
    });
  });
  return seen;
}

async function urql(query: string): Promise<Feed[]> {
  const client = new Client({
    url,
    fetch: spying,
    fetchOptions: { headers },
    preferGetMethod: false,
    exchanges: [fetchExchange],
  });
  const seen: Feed[] = [];
  await new Promise<void>((resolve, reject) => {
    client.query<Feed>(query, {}).subscribe((result) => {
      if (result.error) reject(result.error);
      if (result.data) seen.push(structuredClone(result.data));
      if (!result.hasNext) resolve();
    });
  });
  return seen;
}

function usernames({ feed }: Feed): (string | undefined)[] {
  return feed.nodes.map((node) => node.author?.username);
}

for (const [name, read, mediaType] of [
  ["Apollo", apollo, "multipart/mixed"],
  ["urql", urql, "text/event-stream"],
] as const) {
  await check(`${name}: deferred fields come after the others`, async () => {
    const seen = await read(DEFERRED);
    assert.ok(there(answered.at(-1)).startsWith(mediaType));
    assert.deepEqual(usernames(there(seen[0])), [undefined, undefined, undefined]);
    assert.deepEqual(usernames(there(seen.at(-1))).map((each) => typeof each), ["string", "string", "string"]);
  });
}

// urql merges the elements of streamed lists as in an older format of results, so its applications use @defer only.
await check("Apollo: the rest of a streamed list comes after its first elements", async () => {
  const seen = await apollo(STREAMED);
  assert.equal(there(seen[0]).feed.nodes.length, 2);
  const ids = there(seen.at(-1)).feed.nodes.map((node) => node.id);
  assert.deepEqual([ids.length, new Set(ids).size], [6, 6]);
});

/** Relay wants each part with its path, its label and all of its fields: what is merged so far has them. */
function send(operation: RequestParameters, variables: Variables) {
  return Observable.create<GraphQLResponse>((sink) => {
    const request = async (): Promise<void> => {
      const body = JSON.stringify({ query: operation.text, variables });
      const accept = "multipart/mixed;incrementalSpec=v0.2, application/json;q=0.9";
      const sent = { ...headers, accept, "content-type": "application/json" };
      const merging = new Merging();
      for await (const result of parts(await fetch(url, { method: "POST", headers: sent, body }))) {
        for (const each of merging.take(result)) sink.next(each as unknown as GraphQLResponse);
      }
      sink.complete();
    };
    request().catch((error: Error) => sink.error(error));
  });
}

await check("Relay: deferred fragments and streamed edges fill the store", async () => {
  const environment = new Environment({ network: Network.create(send), store: new Store(new RecordSource()) });
  const operation = createOperationDescriptor(getRequest(relayQuery), {});
  environment.retain(operation);
  const results: unknown[] = [];
  await new Promise<void>((resolve, reject) => {
    fetchQuery(environment, relayQuery, {}).subscribe({
      next: (result) => results.push(result),
      complete: () => resolve(),
      error: reject,
    });
  });
  const stored = Object.values(environment.getStore().getSource().toJSON()) as Record<string, unknown>[];
  const authors = stored.filter((record) => record["__typename"] === "User" && typeof record["username"] === "string");
  assert.ok(authors.length > 0);
  assert.ok(results.length > 1);
});
