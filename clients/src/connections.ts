/** Connections of client libraries to the server, through a proxy that can cut them. */
import assert from "node:assert/strict";

import { type DocumentNode, Kind } from "graphql";
import { createClient as createSseClient } from "graphql-sse";
import { createClient as createWsClient } from "graphql-ws";
import { Observable, type RequestParameters, type Variables } from "relay-runtime";
import WebSocket from "ws";

import { headers, there, url } from "./check.js";
import { proxyTo } from "./proxy.js";

const CREATE = "mutation ($input: CreatePostInput!) { createPost(input: $input) { post { id } } }";

export const proxy = await proxyTo(url);
export const aMoment = () => new Promise<void>((resolve) => setTimeout(resolve, 100));

/** Sends a query or a mutation over HTTP; returns its data. */
export async function send<Data>(query: string, variables: object): Promise<Data> {
  const body = JSON.stringify({ query, variables });
  const response = await fetch(url, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body });
  const answer = (await response.json()) as { data: Data; errors?: unknown };
  assert.equal(answer.errors, undefined);
  return answer.data;
}

/** Returns the ID of a new post. */
export async function createPost(caption: string): Promise<string> {
  const input = { imageUrl: "https://example.org/1.jpg", caption };
  return (await send<{ createPost: { post: { id: string } } }>(CREATE, { input })).createPost.post.id;
}

export function isLive(document: DocumentNode): boolean {
  return document.definitions.some(
    (each) =>
      each.kind === Kind.OPERATION_DEFINITION &&
      (each.operation === "subscription" || each.directives?.some(({ name }) => name.value === "live")),
  );
}

export const overWebSocket = (retryAttempts: number) =>
  createWsClient({ url: proxy.ws, connectionParams: headers, webSocketImpl: WebSocket, retryAttempts, retryWait: aMoment });

export const overEvents = (singleConnection: boolean, retryAttempts: number) => {
  const options = { url: proxy.http, headers: () => ({ ...headers }), retryAttempts, retry: aMoment };
  return createSseClient({ ...options, singleConnection: singleConnection as false });
};

type WsClient = ReturnType<typeof overWebSocket>;

/** For the subscriptionExchange of urql. */
export const forwardTo = (client: WsClient) => (request: { query?: string; variables?: unknown }) => ({
  subscribe: ({ next, error, complete }: { next(each: never): void; error(error: unknown): void; complete(): void }) => {
    const operation = { query: there(request.query), variables: request.variables as Variables };
    return { unsubscribe: client.subscribe(operation, { next: (each) => next(each as never), error, complete }) };
  },
});

/** For the network layer of Relay. */
export const observableOf = (client: WsClient) => ({ text }: RequestParameters, variables: Variables) =>
  Observable.create<never>(({ next, error, complete }) => {
    // Relay takes only an Error; graphql-ws has the CloseEvent of a lost connection.
    const failed = (cause: unknown) => error(cause instanceof Error ? cause : new Error("the connection ended", { cause }));
    const observer = { next: (each: unknown) => next(each as never), error: failed, complete };
    return client.subscribe({ query: there(text), variables }, observer);
  });
