// Reads an introspection result from standard input as code generators do, and prints the names of its types.
import { text } from "node:stream/consumers";
import { assertValidSchema, buildClientSchema } from "graphql";

const { data } = JSON.parse(await text(process.stdin));
const schema = buildClientSchema(data);
assertValidSchema(schema);
console.log(JSON.stringify(Object.keys(schema.getTypeMap())));
