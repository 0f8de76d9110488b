"""Subjects of counts: the records that have counts, and the records that count for them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from datastore.accounts import User
from datastore.analytics import CardViews, CountedObject, Scope
from datastore.cards import Card, CardComment, Vote
from datastore.changes.change import Change
from datastore.cms import Content
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.neighborhoods import Build, Site
from datastore.social import Comment, Like, Post
from resolvers.analytics.metrics import Metric


class Object(NamedTuple):
    """A record that counts are about."""

    scope: Scope
    subject: str

    @property
    def key(self) -> Key[CountedObject]:
        return CountedObject.key(scope=self.scope, subject=self.subject)


def _of(scope: Scope, hole: str) -> Callable[[dict[str, str]], Object]:
    return lambda values: Object(scope, values[hole])


def content_object(tenant_id: str, node_id: str) -> Object:
    return Object(Scope.CONTENT, f"{tenant_id}/{node_id}")


# The records that count each time they are created or removed. Votes on comments are no votes on a card.
COUNTED: dict[type[Entity], tuple[Metric, Callable[[dict[str, str]], Object]]] = {
    Like: (Metric.LIKES, _of(Scope.POST, "post_id")),
    Comment: (Metric.COMMENTS, _of(Scope.POST, "post_id")),
    CardComment: (Metric.COMMENTS, _of(Scope.CARD, "card_id")),
    Vote: (Metric.VOTES, _of(Scope.CARD, "target_id")),
    Post: (Metric.POSTS, _of(Scope.POST, "post_id")),
    Card: (Metric.CARDS, _of(Scope.CARD, "card_id")),
}

# The records that have counts of their own. The counts are purged after them.
SUBJECTS: dict[type[Entity], Callable[[dict[str, str]], Object]] = {
    Post: _of(Scope.POST, "post_id"),
    Card: _of(Scope.CARD, "card_id"),
    Site: _of(Scope.SITE, "site_id"),
    User: _of(Scope.USER, "user_id"),
    Content: lambda values: content_object(values["tenant_id"], values["node_id"]),
}

# Where the author of an object is read for the first time.
AUTHORED: dict[Scope, Callable[[str], Key[Any]]] = {
    Scope.POST: lambda post_id: Post.key(post_id=post_id),
    Scope.CARD: lambda card_id: Card.key(card_id=card_id),
}

VIEWED = _of(Scope.CARD, "card_id")
BUILT = _of(Scope.SITE, "site_id")


def authored(change: Change) -> Object | None:
    """Returns the object with an author that a change is about."""
    if change.entity in COUNTED:
        return COUNTED[change.entity][1](change.key.values)
    if change.entity is Build:
        return BUILT(change.key.values)
    return VIEWED(change.key.values) if change.entity is CardViews else None
