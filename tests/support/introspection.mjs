// Builds a client schema from an introspection result on standard input, like a code generator, and prints its types.
import { text } from "node:stream/consumers";
import { assertValidSchema, buildClientSchema } from "graphql";

const { data } = JSON.parse(await text(process.stdin));
const schema = buildClientSchema(data);
assertValidSchema(schema);
console.log(JSON.stringify(Object.keys(schema.getTypeMap())));
