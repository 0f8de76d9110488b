// Sends the operations of GraphiQL: live queries over server-sent events, subscriptions over WebSocket, others once.
"use strict";

function createFetcher(url) {
  const once = GraphiQL.createFetcher({ url });
  return (request, options = {}) => {
    const operation = selected(options.documentAST, request.operationName);
    if (operation?.operation === "subscription" && globalThis.graphqlWs) {
      return { subscribe: (observer) => overWebSocket(url, request, options.headers, observer) };
    }
    if (operation?.operation === "subscription" || isLive(operation)) {
      return { subscribe: (observer) => overEvents(url, request, options.headers, observer) };
    }
    return once(request, options);
  };
}

function selected(document, name) {
  const operations = document?.definitions.filter((each) => each.kind === "OperationDefinition") ?? [];
  return operations.find((each) => each.name?.value === name) ?? operations[0];
}

function isLive(operation) {
  return operation?.directives?.some((each) => each.name.value === "live") ?? false;
}

// Tokens are parameters of the connection, because browsers send no headers with it.
function overWebSocket(url, request, headers, observer) {
  const address = new URL(url, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const client = graphqlWs.createClient({ url: address.href, connectionParams: headers });
  const stop = client.subscribe(request, {
    next: observer.next,
    complete: observer.complete,
    error(error) {
      if (Array.isArray(error)) observer.next({ errors: error });
      else observer.error(error instanceof CloseEvent ? new Error(`${error.code}: ${error.reason}`) : error);
    },
  });
  return {
    unsubscribe() {
      stop();
      client.dispose();
    },
  };
}

function overEvents(url, request, headers, observer) {
  const stopping = new AbortController();
  follow(url, request, headers, observer, stopping.signal).then(
    () => observer.complete(),
    (error) => {
      if (!stopping.signal.aborted) observer.error(error);
    },
  );
  return { unsubscribe: () => stopping.abort() };
}

async function follow(url, request, headers, observer, signal) {
  const response = await fetch(url, {
    method: "POST",
    body: JSON.stringify(request),
    headers: { ...headers, accept: "text/event-stream", "content-type": "application/json" },
    signal,
  });
  if (!response.headers.get("content-type").startsWith("text/event-stream")) {
    observer.next(await response.json());
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (text + part.value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = /^event: next\ndata: (.*)$/s.exec(event);
      if (data) observer.next(JSON.parse(data[1]));
    }
  }
}
