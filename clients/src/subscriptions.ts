/** Subscriptions in client libraries: they get what is added, and go on at their last cursor after the connection was cut. */
import assert from "node:assert/strict";

import { ApolloClient, gql, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { Client, subscriptionExchange } from "@urql/core";
import { Environment, Network, RecordSource, requestSubscription, Store } from "relay-runtime";

import relaySubscription from "../generated/relay/documentsCommentsSubscription.graphql.js";
import { check, eventually, there, unique, url } from "./check.js";
import { aMoment, createPost, forwardTo, observableOf, overEvents, overWebSocket, proxy, send } from "./connections.js";

type Edge = { cursor: string; node: { content: string } };
type Data = { commentAdded: Edge };
type Given = { postId: string; after: string };
type Observer = { next: (data: Data) => void; lost: (error: unknown) => void };
/** Subscribes, and returns how to stop. `lost` is called when the subscription has ended. */
type Subscribe = (given: Given, observer: Observer) => () => void;

const ADDED = `subscription Comments($postId: ID!, $after: String) {
  commentAdded(postId: $postId, after: $after) { cursor node { content } }
}`;
const ADD = "mutation ($input: AddCommentInput!) { addComment(input: $input) { problems { code } } }";
const LAST = "query ($id: ID!) { post(by: { id: $id }) { comments(last: 1) { edges { cursor } } } }";
// A client that subscribes again by itself would repeat the first cursor.
const NO_RETRIES = 0;

const sink = ({ next, lost }: Observer) => ({
  next: ({ data }: { data?: Data | null }) => next(there(data)),
  error: lost,
  complete: () => lost("complete"),
});

const libraries: Record<string, () => Subscribe> = {
  "graphql-ws": () => {
    const client = overWebSocket(NO_RETRIES);
    return (variables, observer) => client.subscribe<Data>({ query: ADDED, variables }, sink(observer));
  },

  "graphql-sse, distinct connections": () => {
    const client = overEvents(false, NO_RETRIES);
    return (variables, observer) => client.subscribe<Data>({ query: ADDED, variables }, sink(observer));
  },

  "graphql-sse, single connection": () => {
    const client = overEvents(true, NO_RETRIES);
    return (variables, observer) => client.subscribe<Data>({ query: ADDED, variables }, sink(observer));
  },

  "Apollo Client": () => {
    const client = new ApolloClient({ link: new GraphQLWsLink(overWebSocket(NO_RETRIES)), cache: new InMemoryCache() });
    return (variables, { next, lost }) => {
      const results = client.subscribe<Data>({ query: gql(ADDED), variables });
      const running = results.subscribe(({ data, error }) => (error ? lost(error) : next(data as Data)));
      return () => running.unsubscribe();
    };
  },

  urql: () => {
    const exchange = subscriptionExchange({ forwardSubscription: forwardTo(overWebSocket(NO_RETRIES)) });
    const client = new Client({ url, preferGetMethod: false, exchanges: [exchange] });
    return (variables, { next, lost }) =>
      client.subscription<Data, Given>(ADDED, variables).subscribe(({ data, error }) => {
        if (error) lost(error);
        else if (data) next(data);
      }).unsubscribe;
  },

  Relay: () => {
    const observable = observableOf(overWebSocket(NO_RETRIES));
    const environment = new Environment({ network: Network.create(observable, observable), store: new Store(new RecordSource()) });
    return (variables, { next, lost }) =>
      requestSubscription(environment, {
        subscription: relaySubscription,
        variables,
        onNext: (data) => next(data as Data),
        onError: lost,
      }).dispose;
  },
};

/** Subscribes again at the last cursor, after each time that the connection was lost. Returns how to stop. */
function follow(subscribe: Subscribe, { postId, after }: Given, next: (edge: Edge) => void): () => void {
  let isWanted = true;
  let stop = () => {};
  const start = () => {
    let isOpen = true;
    const take = ({ commentAdded }: Data) => {
      after = commentAdded.cursor;
      next(commentAdded);
    };
    const lost = () => {
      if (isWanted && isOpen) void aMoment().then(start);
      isOpen = false;
    };
    if (isWanted) stop = subscribe({ postId, after }, { next: take, lost });
  };
  start();
  return () => {
    isWanted = false;
    stop();
  };
}

async function comment(postId: string, content: string): Promise<void> {
  const { addComment } = await send<{ addComment: { problems: unknown[] } }>(ADD, { input: { postId, content } });
  assert.deepEqual(addComment.problems, []);
}

/** Returns the cursor of the newest comment: what is added after that page was read is sent. */
async function newest(id: string): Promise<string> {
  type Page = { post: { comments: { edges: { cursor: string }[] } } };
  const read = async () => (await send<Page>(LAST, { id })).post.comments.edges[0]?.cursor ?? false;
  return eventually(read);
}

for (const [name, connected] of Object.entries(libraries)) {
  const postId = await createPost(`${name} ${unique}`);
  await comment(postId, "before");
  const received: string[] = [];
  const receives = (...expected: string[]) =>
    eventually(async () => received.length >= expected.length).then(() => assert.deepEqual(received, expected));
  let stop = () => {};
  await check(`${name}: a subscription gets what mutations add`, async () => {
    stop = follow(connected(), { postId, after: await newest(postId) }, ({ node }) => received.push(node.content));
    await comment(postId, "first");
    await comment(postId, "second");
    await receives("first", "second");
  });
  await check(`${name}: it goes on at its last cursor, without a gap or a duplicate`, async () => {
    assert.ok(proxy.cut() > 0);
    await comment(postId, "third");
    await receives("first", "second", "third");
    await comment(postId, "fourth");
    await receives("first", "second", "third", "fourth");
  });
  stop();
}

proxy.close();
proxy.cut();
