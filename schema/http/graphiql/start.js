// Opens GraphiQL on this server, with a tab for each example query on the first visit, and one for the query of the URL.
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

// A link fills in the editors. It runs nothing, and cannot set headers.
function linked() {
  const url = new URLSearchParams(location.search);
  return url.get("query") === null
    ? null
    : { query: url.get("query"), variables: readable(url.get("variables") ?? ""), operationName: url.get("operationName") };
}

function readable(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

const link = linked();
const isPhone = matchMedia("(max-width: 700px)").matches;

ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(GraphiQL, {
    fetcher: createFetcher(location.pathname),
    defaultEditorToolsVisibility: link?.variables || !isPhone ? "variables" : false,
    defaultTabs: link ? [{ query: link.query, variables: link.variables }, ...examples] : examples,
    defaultQuery: examples[0].query,
    query: link?.query,
    variables: link?.variables,
    selectedOperation: link?.operationName,
    shouldPersistHeaders: false,
    storage,
  }),
);
