"""Notifications in words: "Ann and 12 others liked your post"."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from datastore.accounts import User
from datastore.model.entity import REGISTRY
from datastore.model.keys import Key
from datastore.notifications import Notification, NotificationGroup, NotificationKind
from loaders.needs import Step
from loaders.viewer import Viewer
from loaders.visibility import seen_at
from resolvers.notifications.groups import count

ACTORS_SHOWN = 5
LONGEST_TITLE = 80


class Wording(NamedTuple):
    """The words for one notification of a kind, which follow the actors, and for several.

    Without words for several, every notification is by another person: "Ann and 2 others …". Otherwise one person may
    have caused all of them, so they are counted themselves: "3 comments on your post". `{title}` is that of the target.
    """

    one: str
    several: str | None = None


Kind = NotificationKind
WORDS = {
    Kind.LIKE: Wording("liked your post{title}"),
    Kind.COMMENT: Wording("commented on your post{title}", "There are {count} comments on your post{title}"),
    Kind.FOLLOW: Wording("started to follow you"),
    Kind.CARD_COMMENT: Wording("commented on your card{title}", "There are {count} comments on your card{title}"),
    Kind.CARD_VOTE: Wording("upvoted your card{title}"),
    Kind.COMMENT_VOTE: Wording("upvoted your comment{title}"),
    Kind.COLLECTION_ADD: Wording(
        "added your card{title} to a collection", "Your card{title} was added to {count} collections"
    ),
    Kind.INVITATION: Wording("invited you to the neighborhood{title}"),
    Kind.JOIN_REQUEST: Wording("asked to join the neighborhood{title}"),
    Kind.JOIN_APPROVAL: Wording("approved your request to join the neighborhood{title}"),
    Kind.ROLE_CHANGE: Wording("changed your role in the neighborhood{title}"),
    Kind.BUILD_COMPLETED: Wording(
        "A build of your site{title} succeeded", "{count} builds of your site{title} succeeded"
    ),
    Kind.BUILD_FAILED: Wording("A build of your site{title} failed", "{count} builds of your site{title} failed"),
    Kind.PAGE_COMMENT: Wording(
        "A comment on the page{title} waits for moderation", "{count} comments on the page{title} wait for moderation"
    ),
    Kind.TREE_SHARE: Wording("shared the family tree{title} with you"),
}
WITHOUT_ACTOR = {Kind.BUILD_COMPLETED, Kind.BUILD_FAILED, Kind.PAGE_COMMENT}
TITLES = ("title", "name", "caption", "content")


def target_of(notified: Notification | NotificationGroup) -> Key[Any] | None:
    entity = REGISTRY.get(notified.target_type)
    return Key(entity, notified.target_pk, notified.target_sk) if entity else None


def actors_of(group: NotificationGroup, viewer: Viewer) -> Step[list[User]]:
    """Returns the actors of the latest notifications who are visible, each once."""
    ids = dict.fromkeys(noted.actor_id for noted in group.latest if noted.actor_id)
    found = yield from seen_at([User.key(user_id=each) for each in ids], viewer, leave_out_damaged=True)
    return [user for user in found if user is not None][:ACTORS_SHOWN]


def shown_count(group: NotificationGroup, viewer: Viewer) -> Step[int]:
    """Returns the number of notifications, without those of accounts that are known to be hidden."""
    ids = dict.fromkeys(noted.actor_id for noted in group.latest if noted.actor_id)
    keys = [User.key(user_id=each) for each in ids]
    found = yield from seen_at(keys, viewer, leave_out_damaged=True)
    hidden = {each for each, user in zip(ids, found, strict=True) if user is None}
    return count(group, hidden)


def text_of(group: NotificationGroup, viewer: Viewer) -> Step[str]:
    """Returns an English sentence about the group, as the viewer may see it."""
    actors = yield from actors_of(group, viewer)
    number = yield from shown_count(group, viewer)
    (target,) = yield from seen_at([target_of(group)], viewer, leave_out_damaged=True)
    return sentence(group.kind, [user.display_name or user.username for user in actors], number, _title(target))


def sentence(kind: NotificationKind, names: Sequence[str], number: int, title: str = "") -> str:
    words = WORDS[kind]
    if kind in WITHOUT_ACTOR:
        text = words.one if number == 1 or words.several is None else words.several
        return text.format(title=title, count=number) + "."
    if number > 1 and words.several is not None:
        latest = f", the latest by {names[0]}" if names else ""
        return words.several.format(title=title, count=number) + f"{latest}."
    return f"{_people(names, number)} {words.one.format(title=title)}."


def _people(names: Sequence[str], number: int) -> str:
    if not names:
        return "Someone" if number == 1 else f"{number} people"
    if number <= 1:
        return names[0]
    if number == 2 and len(names) > 1:
        return f"{names[0]} and {names[1]}"
    return f"{names[0]} and {number - 1} other{'s' if number > 2 else ''}"


def _title(target: Any) -> str:
    """Returns the title of a record in quotation marks, after a space; nothing if it has none."""
    text = next((text for name in TITLES if (text := getattr(target, name, None))), None)
    if not isinstance(text, str):
        return ""
    short = text.rstrip(".") if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"
    return f" “{short}”"
