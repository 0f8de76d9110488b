/** Every operation of the five applications, with generated types, over the live server. */
import assert from "node:assert/strict";

import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { print } from "graphql";

import * as documents from "../generated/graphql/graphql.js";
import { check, eventually, headers, there, unique, url } from "./check.js";

const used = new Set<unknown>();

async function ask<Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<Data> {
  used.add(document);
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "application/graphql-response+json" },
    body: JSON.stringify({ query: print(document), variables }),
  });
  const answer = (await response.json()) as { data: Data; errors?: unknown };
  assert.deepEqual([response.status, answer.errors], [200, undefined]);
  return answer.data;
}

await check("accounts: sign up, sign in, edit a profile, read it by name and by id", async () => {
  const name = `ada_${unique}`;
  const input = { username: name, email: `${name}@example.org`, password: "a long enough password" };
  const signedUp = there((await ask(documents.SignUpDocument, { input })).signUp);
  assert.deepEqual(signedUp.problems, []);
  const again = there((await ask(documents.SignUpDocument, { input })).signUp);
  assert.equal(again.problems[0]?.code, "TAKEN");
  const loggedIn = there((await ask(documents.LogInDocument, { input: { login: name, password: input.password } })).logIn);
  assert.equal(loggedIn.user?.id, there(signedUp.user).id);
  const edited = there((await ask(documents.UpdateProfileDocument, { input: { bio: "Repairs." } })).updateProfile);
  assert.equal(there(edited.user).bio, "Repairs.");
  const viewer = there((await ask(documents.ViewerDocument, {})).viewer);
  const found = there((await ask(documents.OneUserDocument, { by: { username: viewer.username } })).user);
  assert.deepEqual([found.id, found.bio], [viewer.id, "Repairs."]);
  const node = there((await ask(documents.AnyNodeDocument, { id: viewer.id })).node);
  assert.ok(node.__typename === "User" && node.username === viewer.username);
});

await check("neighborhoods: create one, list members and sites", async () => {
  const input = { name: `Alder Street ${unique}`, privacy: "PRIVATE" } as const;
  const created = there((await ask(documents.CreateNeighborhoodDocument, { input })).createNeighborhood);
  const { slug, privacy } = there(created.neighborhood);
  assert.equal(privacy, "PRIVATE");
  const members = there((await ask(documents.NeighborhoodMembersDocument, { slug, first: 10 })).neighborhood);
  assert.deepEqual(there(members.members).nodes.map((each) => each.role), ["OWNER"]);
  const listed = there((await ask(documents.NeighborhoodsDocument, { first: 10 })).neighborhoods);
  assert.ok(listed.nodes.every((each) => each.memberCount >= 0));
  there(there((await ask(documents.SitesOfViewerDocument, { first: 10 })).viewer).sites);
});

await check("cms: a page, the catalog, a new page and its audit entries", async () => {
  const page = there((await ask(documents.PageDocument, { slug: "/knives" })).route);
  assert.ok(there(page.content).version >= 1);
  const catalog = await ask(documents.CatalogDocument, { first: 10 });
  assert.ok(there(catalog.products).nodes.length > 0 && catalog.assets);
  there((await ask(documents.DashboardDocument, { first: 1 })).auditLog);
  const input = { title: `About ${unique}`, blocks: [{ type: "text", text: "We." }] };
  const created = there(there((await ask(documents.CreateContentDocument, { input })).createContent).content);
  const change = { contentId: created.id, expectedVersion: created.version, title: `About us ${unique}` };
  const updated = there(there((await ask(documents.UpdateContentDocument, { input: change })).updateContent).content);
  assert.equal(updated.version, created.version + 1);
  const stale = there((await ask(documents.UpdateContentDocument, { input: change })).updateContent);
  assert.deepEqual([stale.problems[0]?.code, stale.problems[0]?.currentVersion], ["CONFLICT", updated.version]);
  await eventually(async () => {
    const audit = there((await ask(documents.AuditDocument, { first: 10 })).auditLog);
    return audit.nodes.some((each) => each.target.title === change.title);
  });
});

await check("social: a post, a like, a comment and the feed", async () => {
  const input = { imageUrl: "https://example.org/1.jpg", caption: `Knives ${unique}` };
  const post = there(there((await ask(documents.CreatePostDocument, { input })).createPost).post);
  const liked = there(there((await ask(documents.LikePostDocument, { input: { postId: post.id } })).likePost).post);
  assert.deepEqual([liked.likeCount, liked.viewerHasLiked], [post.likeCount + 1, true]);
  const comment = { postId: post.id, content: "Sharp!" };
  const added = there(there((await ask(documents.AddCommentDocument, { input: comment })).addComment).comment);
  const edit = { postId: post.id, caption: "Sharp knives" };
  there(there((await ask(documents.UpdatePostDocument, { input: edit })).updatePost).post);
  const shown = there((await ask(documents.PostWithCommentsDocument, { id: post.id, first: 10 })).post);
  assert.equal(shown.caption, edit.caption);
  assert.deepEqual(there(shown.comments).edges.map((each) => each.node.id), [added.id]);
  assert.equal(there(shown.likes).totalCount, 1);
  const feed = there((await ask(documents.FeedDocument, { first: 5 })).feed);
  assert.equal(feed.edges.length, 5);
});

await check("cards: the best, a search and a vote", async () => {
  const top = there((await ask(documents.TopCardsDocument, { first: 3 })).topCards);
  const card = there(top.nodes[0]);
  const found = there((await ask(documents.CardSearchDocument, { text: card.title, first: 3 })).searchCards);
  assert.ok(found.nodes.some((each) => each.id === card.id));
  const ballot = card.viewerVote?.direction === "UP" ? "DOWN" : "UP";
  const voted = there((await ask(documents.CastVoteDocument, { input: { targetId: card.id, ballot } })).vote);
  assert.equal(there(there(voted.card).viewerVote).direction, ballot);
});

await check("genealogy: a tree, its people, ancestors and kinship", async () => {
  const tree = there(there((await ask(documents.CreateTreeDocument, { input: { name: "The Holms" } })).createTree).tree);
  const person = { treeId: tree.id, firstName: "Ida", gender: "FEMALE", birthDate: "ABT 1872" } as const;
  there(there((await ask(documents.AddPersonDocument, { input: person })).addPerson).person);
  const trees = there(there((await ask(documents.TreesOfViewerDocument, { first: 10 })).viewer).trees);
  const largest = there([...trees.nodes].sort((one, other) => other.personCount - one.personCount)[0]);
  const family = there((await ask(documents.FamilyDocument, { id: largest.id, first: 3 })).tree);
  const [first, second] = there(family.persons).edges.map((each) => each.node);
  const ids = { id: there(first).id, other: there(second).id };
  const kin = there((await ask(documents.AncestorsDocument, ids)).person);
  assert.equal(typeof there(kin.kinship).name, "string");
  there(kin.ancestors);
});

await check("every operation was sent", async () => {
  const all = Object.entries(documents).filter(([name]) => name.endsWith("Document") && !name.startsWith("Typed"));
  assert.deepEqual(all.filter(([, document]) => !used.has(document)).map(([name]) => name), []);
});
