// Opens GraphiQL on this server, with a tab for each example query on the first visit.
const examples = JSON.parse(document.getElementById("examples").textContent);

ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(GraphiQL, {
    fetcher: GraphiQL.createFetcher({ url: window.location.pathname }),
    defaultEditorToolsVisibility: "variables",
    defaultTabs: examples,
    defaultQuery: examples[0].query,
    shouldPersistHeaders: true,
  }),
);
