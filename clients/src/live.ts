/** Live queries in client libraries: they see a change, and go on after the connection was cut. */
import assert from "node:assert/strict";

import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { createClient as createWsClient } from "graphql-ws";
import {
  createOperationDescriptor,
  Environment,
  getRequest,
  Network,
  RecordSource,
  Store,
  type Variables,
} from "relay-runtime";
import WebSocket from "ws";

import relayQuery from "../generated/relay/documentsLiveQuery.graphql.js";
import { check, eventually, headers, there, unique, url } from "./check.js";
import { aMoment, createPost, forwardTo, isLive, observableOf, overEvents, overWebSocket, proxy, send } from "./connections.js";

type Data = { post?: { caption?: string | null } | null; viewer?: { username: string } | null };

const LIVE = "query Live($id: ID!) @live(throttle: 50) { post(by: { id: $id }) { id caption } }";
const UPDATE = "mutation ($input: UpdatePostInput!) { updatePost(input: $input) { problems { code } } }";
/** What relay-compiler makes of the operations. */
const compiled: Record<string, typeof relayQuery> = { [LIVE]: relayQuery };
const RETRIES = 50;

/** Runs an operation, calls `next` with the data of each result, and returns how to stop. */
type Run = (query: string, variables: Variables, next: (data: Data) => void) => () => void;

const sink = (next: (data: Data) => void) => ({
  next: ({ data }: { data?: Data | null }) => next(there(data)),
  error: (error: unknown) => console.log(error),
  complete: () => {},
});

const overEventsOf = (singleConnection: boolean): Run => (query, variables, next) =>
  overEvents(singleConnection, RETRIES).subscribe<Data>({ query, variables }, sink(next));

const libraries: Record<string, Run> = {
  "graphql-ws": (query, variables, next) => overWebSocket(RETRIES).subscribe<Data>({ query, variables }, sink(next)),
  "graphql-sse, distinct connections": overEventsOf(false),
  "graphql-sse, single connection": overEventsOf(true),

  "Apollo Client": (query, variables, next) => {
    const http = new HttpLink({ uri: url, headers });
    const link = ApolloLink.split(({ query }) => isLive(query), new GraphQLWsLink(overWebSocket(RETRIES)), http);
    const client = new ApolloClient({ link, cache: new InMemoryCache() });
    const watched = client.watchQuery<Data>({ query: gql(query), variables, fetchPolicy: "network-only" });
    const subscription = watched.subscribe(({ data }) => data && next(data as Data));
    return () => subscription.unsubscribe();
  },

  urql: (query, variables, next) => {
    const forward = subscriptionExchange({
      isSubscriptionOperation: ({ kind, query }) => kind !== "teardown" && isLive(query),
      forwardSubscription: forwardTo(overWebSocket(RETRIES)),
    });
    const exchanges = [forward, fetchExchange];
    const client = new Client({ url, fetchOptions: { headers }, preferGetMethod: false, exchanges });
    return client.query<Data>(query, variables).subscribe(({ data }) => data && next(data)).unsubscribe;
  },

  Relay: (query, variables, next) => {
    const observable = observableOf(overWebSocket(RETRIES));
    // The second function is for subscriptions.
    const environment = new Environment({ network: Network.create(observable, observable), store: new Store(new RecordSource()) });
    const operation = createOperationDescriptor(getRequest(there(compiled[query])), variables);
    const show = () => next(environment.lookup(operation.fragment).data as Data);
    const running = environment.execute({ operation }).subscribe({ next: show });
    return () => running.unsubscribe();
  },
};

for (const [name, run] of Object.entries(libraries)) {
  const id = await createPost(`first ${unique}`);
  const captions: unknown[] = [];
  const shows = (caption: string) => eventually(async () => captions.at(-1) === caption);
  let stop = () => {};
  await check(`${name}: a live query shows the change of a mutation`, async () => {
    stop = run(LIVE, { id }, ({ post }) => captions.push(post?.caption));
    await shows(`first ${unique}`);
    await send(UPDATE, { input: { postId: id, caption: "second" } });
    await shows("second");
  });
  await check(`${name}: it goes on after the connection was cut`, async () => {
    assert.ok(proxy.cut() > 0);
    await send(UPDATE, { input: { postId: id, caption: "third" } });
    await shows("third");
  });
  stop();
}

await check("graphql-ws: a refused token is replaced", async () => {
  const tokens = ["Bearer expired", headers.authorization];
  const client = createWsClient({
    url: proxy.ws,
    connectionParams: () => ({ authorization: there(tokens.shift()) }),
    webSocketImpl: WebSocket,
    retryAttempts: RETRIES,
    retryWait: aMoment,
  });
  const { value } = await client.iterate<Data>({ query: "{ viewer { username } }" }).next();
  assert.equal(typeof there(value).data?.viewer?.username, "string");
  assert.deepEqual(tokens, []);
});

proxy.close();
proxy.cut();
