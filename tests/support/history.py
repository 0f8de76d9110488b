"""Random histories of commands, and a record of what they did for comparison with analytics."""

import random
from collections import Counter
from typing import Any

from datastore.accounts import User
from datastore.analytics import Scope
from loaders.viewer import Viewer
from resolvers.analytics.metrics import PLATFORM, Metric
from schema.declare.ids import key_of_any
from tests.support.cms import EDITOR, VISITOR
from tests.support.graph import Graph, id_of, mutation, viewer_of

NAMED = {
    "createPost": "post { id }",
    "deletePost": "deletedPostId",
    "likePost": "post { id }",
    "unlikePost": "post { id }",
    "addComment": "comment { id }",
    "deleteComment": "deletedCommentId",
    "followUser": "user { id }",
    "unfollowUser": "user { id }",
    "createCard": "card { id }",
    "deleteCard": "deletedCardId",
    "vote": "vote { id }",
    "addCardComment": "comment { id }",
    "deleteCardComment": "deletedCommentId",
    "createContent": "content { id version }",
    "updateContent": "content { id version }",
    "addPageComment": "pageComment { id }",
    "deletePageComment": "deletedCommentId",
    "startBuild": "build { id }",
}

Happened = Counter[tuple[Scope, str, Metric]]


class History:
    """Runs random commands. `added` and `removed` have what each of them did, by what it counts for."""

    def __init__(self, graph: Graph, seed: int, people: list[User], category_id: str, site_id: str) -> None:
        self.graph = graph
        self.random = random.Random(seed)
        self.people = people
        self.category_id = category_id
        self.site_id = site_id
        self.added: Happened = Counter()
        self.removed: Happened = Counter()
        self.posts: dict[str, User] = {}
        self.cards: dict[str, User] = {}
        self.contents: dict[str, int] = {}
        self.builds: set[str] = set()
        # What is on each object: the likes and votes by their users, the comments by their IDs.
        self.likes: dict[tuple[str, str], str] = {}
        self.votes: dict[tuple[str, str], str] = {}
        self.comments: dict[str, tuple[str, User]] = {}
        self.card_comments: dict[str, tuple[str, User]] = {}
        self.page_comments: dict[str, str] = {}
        self.follows: set[tuple[str, str]] = set()
        self.gone: set[str] = set()

    async def run(self, steps: int) -> None:
        actions = [
            getattr(self, name) for name in dir(self) if name.startswith("do_") for _ in range(WEIGHTS.get(name, 1))
        ]
        for _ in range(steps):
            await self.random.choice(actions)()

    async def command(self, name: str, viewer: Viewer, **input: Any) -> dict[str, Any]:
        payload = await self.graph.command(mutation(name, NAMED[name]), viewer, **input)
        assert payload["problems"] == [], payload
        return payload

    def note(self, metric: Metric, *about: tuple[Scope, str], amount: int = 1, removed: bool = False) -> None:
        noted = self.removed if removed else self.added
        for scope, subject in (*about, (Scope.PLATFORM, PLATFORM)):
            noted[scope, subject, metric] += amount

    def person(self) -> User:
        return self.random.choice(self.people)

    def any(self, of: Any) -> Any:
        return self.random.choice(sorted(of)) if of else None

    def on_post(self, post: str) -> tuple[tuple[Scope, str], ...]:
        return (Scope.POST, own(post, "post_id")), (Scope.USER, self.posts[post].user_id)

    def on_card(self, card: str) -> tuple[tuple[Scope, str], ...]:
        return (Scope.CARD, own(card, "card_id")), (Scope.USER, self.cards[card].user_id)

    async def do_post(self) -> None:
        author = self.person()
        payload = await self.command("createPost", viewer_of(author), imageUrl="https://example.org/a.jpg")
        self.posts[payload["post"]["id"]] = author
        self.note(Metric.POSTS, (Scope.USER, author.user_id))

    async def do_delete_post(self) -> None:
        post = self.any(self.posts)
        if post:
            await self.command("deletePost", viewer_of(self.posts[post]), postId=post)
            for key in [key for key in self.likes if key[0] == post]:
                del self.likes[key]
                self.note(Metric.LIKES, *self.on_post(post), removed=True)
            for comment in [each for each, (on, _) in self.comments.items() if on == post]:
                del self.comments[comment]
                self.note(Metric.COMMENTS, *self.on_post(post), removed=True)
            self.gone.add(own(post, "post_id"))
            self.note(Metric.POSTS, (Scope.USER, self.posts.pop(post).user_id), removed=True)

    async def do_like(self) -> None:
        post, liker = self.any(self.posts), self.person()
        if post:
            await self.command("likePost", viewer_of(liker), postId=post)
            if (post, liker.user_id) not in self.likes:
                self.likes[post, liker.user_id] = post
                self.note(Metric.LIKES, *self.on_post(post))

    async def do_unlike(self) -> None:
        post, liker = self.any(self.posts), self.person()
        if post:
            await self.command("unlikePost", viewer_of(liker), postId=post)
            if self.likes.pop((post, liker.user_id), None):
                self.note(Metric.LIKES, *self.on_post(post), removed=True)

    async def do_comment(self) -> None:
        post, author = self.any(self.posts), self.person()
        if post:
            payload = await self.command("addComment", viewer_of(author), postId=post, content="Yes.")
            self.comments[payload["comment"]["id"]] = post, author
            self.note(Metric.COMMENTS, *self.on_post(post))

    async def do_delete_comment(self) -> None:
        comment = self.any(self.comments)
        if comment:
            post, author = self.comments.pop(comment)
            await self.command("deleteComment", viewer_of(author), commentId=comment)
            self.note(Metric.COMMENTS, *self.on_post(post), removed=True)

    async def do_follow(self) -> None:
        one, other = self.random.sample(self.people, 2)
        await self.command("followUser", viewer_of(one), userId=id_of(other))
        if (one.user_id, other.user_id) not in self.follows:
            self.follows.add((one.user_id, other.user_id))
            self.note(Metric.FOLLOWS, (Scope.USER, other.user_id))

    async def do_unfollow(self) -> None:
        one, other = self.random.sample(self.people, 2)
        await self.command("unfollowUser", viewer_of(one), userId=id_of(other))
        if (one.user_id, other.user_id) in self.follows:
            self.follows.remove((one.user_id, other.user_id))
            self.note(Metric.FOLLOWS, (Scope.USER, other.user_id), removed=True)

    async def do_card(self) -> None:
        author = self.person()
        given = {"title": "A card", "difficulty": "BEGINNER", "instructions": ["Begin."], "publish": True}
        payload = await self.command("createCard", viewer_of(author), categoryId=self.category_id, **given)
        self.cards[payload["card"]["id"]] = author
        self.note(Metric.CARDS, (Scope.USER, author.user_id))

    async def do_delete_card(self) -> None:
        card = self.any(self.cards)
        if card:
            await self.command("deleteCard", viewer_of(self.cards[card]), cardId=card)
            for key in [key for key in self.votes if key[0] == card]:
                del self.votes[key]
                self.note(Metric.VOTES, *self.on_card(card), removed=True)
            for comment in [each for each, (on, _) in self.card_comments.items() if on == card]:
                del self.card_comments[comment]
                self.note(Metric.COMMENTS, *self.on_card(card), removed=True)
            self.gone.add(own(card, "card_id"))
            self.note(Metric.CARDS, (Scope.USER, self.cards.pop(card).user_id), removed=True)

    async def do_vote(self) -> None:
        card, voter = self.any(self.cards), self.person()
        if card:
            ballot = self.random.choice(["UP", "DOWN", "WITHDRAW"])
            await self.command("vote", viewer_of(voter), targetId=card, ballot=ballot)
            if ballot == "WITHDRAW":
                if self.votes.pop((card, voter.user_id), None):
                    self.note(Metric.VOTES, *self.on_card(card), removed=True)
            elif (card, voter.user_id) not in self.votes:
                self.votes[card, voter.user_id] = card
                self.note(Metric.VOTES, *self.on_card(card))

    async def do_vote_on_comment(self) -> None:
        comment = self.any(self.card_comments)
        if comment:
            await self.command("vote", viewer_of(self.person()), targetId=comment, ballot="UP")

    async def do_card_comment(self) -> None:
        card, author = self.any(self.cards), self.person()
        if card:
            payload = await self.command("addCardComment", viewer_of(author), cardId=card, content="Yes.")
            self.card_comments[payload["comment"]["id"]] = card, author
            self.note(Metric.COMMENTS, *self.on_card(card))

    async def do_delete_card_comment(self) -> None:
        comment = self.any(self.card_comments)
        if comment:
            card, author = self.card_comments.pop(comment)
            await self.command("deleteCardComment", viewer_of(author), commentId=comment)
            self.note(Metric.COMMENTS, *self.on_card(card), removed=True)

    async def do_view(self) -> None:
        card, views = self.any(self.cards), self.random.randint(1, 5)
        if card:
            for _ in range(views):
                self.graph.services.views.note(own(card, "card_id"))
            await self.graph.services.views.flush()
            self.note(Metric.VIEWS, *self.on_card(card), amount=views)

    async def do_content(self) -> None:
        payload = await self.command("createContent", EDITOR, title=f"Page {len(self.contents)}", status="PUBLISHED")
        self._changed(payload["content"], "id-ada")

    async def do_update_content(self) -> None:
        content, author = self.any(self.contents), self.person()
        if content:
            editor = Viewer(author.user_id, tenant_id="acme", tenants=frozenset({("acme", "editor")}))
            given = {"title": "Changed", "expectedVersion": self.contents[content]}
            payload = await self.command("updateContent", editor, contentId=content, **given)
            self._changed(payload["content"], author.user_id)

    def _changed(self, content: dict[str, Any], author_id: str) -> None:
        self.contents[content["id"]] = content["version"]
        self.note(Metric.CONTENT_CHANGES, page(content["id"]), (Scope.TENANT, "acme"), (Scope.USER, author_id))

    async def do_page_comment(self) -> None:
        content = self.any(self.contents)
        if content:
            payload = await self.command("addPageComment", VISITOR, contentId=content, authorName="Eve", body="Yes.")
            self.page_comments[payload["pageComment"]["id"]] = content
            self.note(Metric.COMMENTS, page(content), (Scope.TENANT, "acme"))

    async def do_delete_page_comment(self) -> None:
        comment = self.any(self.page_comments)
        if comment:
            content = self.page_comments.pop(comment)
            await self.command("deletePageComment", EDITOR, commentId=comment)
            self.note(Metric.COMMENTS, page(content), (Scope.TENANT, "acme"), removed=True)

    async def do_build(self) -> None:
        payload = await self.command("startBuild", viewer_of(self.people[0]), siteId=self.site_id)
        if payload["build"]["id"] not in self.builds:
            self.builds.add(payload["build"]["id"])
            site = (Scope.SITE, own(self.site_id, "site_id"))
            self.note(Metric.BUILDS, site, (Scope.USER, self.people[0].user_id))

    async def do_settle(self) -> None:
        await self.graph.settle(jobs=self.random.random() < 0.5)


WEIGHTS = {"do_like": 4, "do_vote": 4, "do_comment": 2, "do_card_comment": 2, "do_view": 2, "do_post": 2, "do_card": 2}


def own(global_id: str, hole: str) -> str:
    return key_of_any(global_id).values[hole]


def page(content_id: str) -> tuple[Scope, str]:
    values = key_of_any(content_id).values
    return Scope.CONTENT, f"{values['tenant_id']}/{values['node_id']}"
