// Execution only: graphql-js and graphql-jit on data in memory, with a DataLoader per request.
// Reads {schema, query, posts, comments, users, rounds, runs} from stdin; writes the CPU time for each line.
import { createInterface } from 'node:readline';
import DataLoader from 'dataloader';
import { buildSchema, execute, parse } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const given = JSON.parse((await lines.next()).value);
const users = new Map(given.users.map((user) => [user.userId, user]));
const commentsOf = new Map(given.comments.map(({ postId, comments }) => [postId, comments]));

const globalId = (type, ...values) => Buffer.from([type, ...values].join('#')).toString('base64url');
const context = () => ({
  users: new DataLoader(async (ids) => ids.map((id) => users.get(id) ?? null)),
  comments: new DataLoader(async (ids) => ids.map((id) => commentsOf.get(id))),
});
const page = (nodes, size) => ({ nodes: nodes.slice(0, size), pageInfo: { hasNextPage: nodes.length > size } });
const author = (record, _, { users }) => users.load(record.userId);
const resolvers = {
  Query: { feed: async (_, { first }) => page(given.posts, first) },
  Post: {
    id: (post) => globalId('Post', post.postId),
    author,
    comments: async (post, { first }, { comments }) => page(await comments.load(post.postId), first),
  },
  Comment: { id: (comment) => globalId('Comment', comment.postId, comment.createdAt, comment.commentId), author },
  User: { id: (user) => globalId('User', user.userId) },
};

const schema = buildSchema(given.schema);
for (const [type, fields] of Object.entries(resolvers)) {
  for (const [name, resolve] of Object.entries(fields)) schema.getType(type).getFields()[name].resolve = resolve;
}
const document = parse(given.query);
const compiled = compileQuery(schema, document);
if (!isCompiledQuery(compiled)) throw new Error(JSON.stringify(compiled));
const executors = {
  'graphql-js': () => execute({ schema, document, contextValue: context() }),
  'graphql-jit': () => compiled.query(undefined, context(), {}),
};

for await (const line of lines) {
  const { name, runs } = JSON.parse(line);
  const run = executors[name];
  let answer;
  const begun = process.cpuUsage();
  for (let count = 0; count < runs; count++) answer = await run();
  const { user, system } = process.cpuUsage(begun);
  console.log(JSON.stringify({ ms: (user + system) / 1000 / runs, answer }));
}
