import graphql from "@graphql-eslint/eslint-plugin";

const { configs, parser } = graphql;
const languageOptions = {
  parser,
  parserOptions: { graphQLConfig: { schema: "generated/schema.graphql", documents: "operations/*.graphql" } },
};
const plugins = { "@graphql-eslint": graphql };

export default [
  {
    files: ["generated/schema.graphql"],
    languageOptions,
    plugins,
    rules: {
      ...configs["flat/schema-recommended"].rules,
      ...configs["flat/schema-relay"].rules,
      // Connections have `nodes`, and bounded results are plain lists. Versions of content are no Nodes.
      "@graphql-eslint/relay-edge-types": [
        "error",
        { withEdgeSuffix: true, shouldImplementNode: false, listTypeCanWrapOnlyEdgeType: false },
      ],
      // The definition of `@oneOf` is that of the specification, for tools that do not know it yet.
      "@graphql-eslint/require-description": [
        "error",
        {
          types: true,
          rootField: true,
          FieldDefinition: true,
          DirectiveDefinition: true,
          ignoredSelectors: ["[type=DirectiveDefinition][name.value=oneOf]"],
        },
      ],
      // Only Nodes have an id; a test of the server checks that.
      "@graphql-eslint/strict-id-in-types": "off",
      // Compares letters instead of words: User.username.
      "@graphql-eslint/no-typename-prefix": "off",
    },
  },
  { files: ["operations/*.graphql"], languageOptions, plugins, rules: configs["flat/operations-recommended"].rules },
];
