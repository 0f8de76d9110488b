// Prints what graphql-http's audits say about the server at the address given: [{id, name, status, reason}].
import { auditServer } from "graphql-http";

const results = await auditServer({ url: process.argv[2] });
console.log(JSON.stringify(results.map(({ id, name, status, reason }) => ({ id, name, status, reason }))));
