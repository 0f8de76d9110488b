// Bundles GraphiQL and the workers of its editor into node_modules/.graphiql, once, when npm installs them.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

await build({
  entryPoints: {
    graphiql: here("libraries.js"),
    "editor.worker": "monaco-editor/esm/vs/editor/editor.worker.js",
    "graphql.worker": "monaco-graphql/esm/graphql.worker.js",
    "json.worker": "monaco-editor/esm/vs/language/json/json.worker.js",
  },
  absWorkingDir: here("../../.."),
  outdir: here("../../../node_modules/.graphiql"),
  bundle: true,
  minify: true,
  format: "iife",
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".ttf": "dataurl" },
  logLevel: "error",
});
