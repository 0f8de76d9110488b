// What start.js uses of GraphiQL, with the names of GraphiQL 4, which is what the page gets from a CDN without npm.
import { useGraphiQLActions } from "@graphiql/react";
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createClient } from "graphql-ws";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import "graphiql/style.css";

const WORKERS = { graphql: "graphql", json: "json" };

globalThis.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(`/graphiql/${WORKERS[label] ?? "editor"}.worker.js`),
};

function Page({ query, variables, selectedOperation, ...props }) {
  return createElement(
    GraphiQL,
    { ...props, initialQuery: query, initialVariables: variables },
    selectedOperation ? createElement(SelectedOperation, { name: selectedOperation }) : null,
  );
}

// Selects one of several operations, once: GraphiQL's own option holds for all tabs.
function SelectedOperation({ name }) {
  const { setOperationName } = useGraphiQLActions();
  useEffect(() => setOperationName(name), []);
  return null;
}

Object.assign(globalThis, {
  React: { createElement },
  ReactDOM: { createRoot },
  // Without npm, subscriptions use server-sent events.
  graphqlWs: { createClient },
  GraphiQL: Object.assign(Page, { createFetcher: createGraphiQLFetcher }),
});
