// Opens GraphiQL on this server, with a tab for each example query on the first visit.
const examples = JSON.parse(document.getElementById("examples").textContent);

// GraphiQL's own switch keeps headers out of the tabs, but its history has them in any case.
const WITH_HEADERS = ["graphiql:tabState", "graphiql:queries", "graphiql:favorites"];
const NEVER_KEPT = ["graphiql:headers", "graphiql:shouldPersistHeaders"];

// The browser's storage without headers, because they hold tokens.
const storage = {
  getItem: (name) => localStorage.getItem(name),
  setItem(name, text) {
    if (!NEVER_KEPT.includes(name)) {
      localStorage.setItem(name, WITH_HEADERS.includes(name) ? withoutHeaders(text) : text);
    }
  },
  removeItem: (name) => localStorage.removeItem(name),
  clear: () => localStorage.clear(),
  get length() {
    return localStorage.length;
  },
};

function withoutHeaders(text) {
  const keep = (name, value) => (name === "headers" || name === "hash" ? null : value);
  return JSON.stringify(JSON.parse(text), keep);
}

// Earlier versions of this page kept headers.
for (const name of NEVER_KEPT) {
  localStorage.removeItem(name);
}
for (const name of WITH_HEADERS) {
  try {
    const text = localStorage.getItem(name);
    if (text) localStorage.setItem(name, withoutHeaders(text));
  } catch {
    localStorage.removeItem(name);
  }
}

ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(GraphiQL, {
    fetcher: GraphiQL.createFetcher({ url: window.location.pathname }),
    defaultEditorToolsVisibility: "variables",
    defaultTabs: examples,
    defaultQuery: examples[0].query,
    shouldPersistHeaders: false,
    storage,
  }),
);
