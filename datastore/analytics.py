"""Analytics: counts per day and hour, and the most active objects of a day."""

from datastore.model.entity import Entity, field
from datastore.model.enums import Choice
from datastore.model.ownership import nobody
from datastore.model.times import Day, Time

PURGED_WITH = nobody("it names no account, and a job purges it after the record that it is about")


class Scope(Choice):
    """Subject of counts."""

    POST = "POST", "A post."
    CARD = "CARD", "A card."
    SITE = "SITE", "A site."
    CONTENT = "CONTENT", "A piece of content."
    USER = "USER", "The works of a user."
    TENANT = "TENANT", "A tenant."
    PLATFORM = "PLATFORM", "Everything."


class AnalyticsPeriod(Choice):
    """Length of the periods that are counted, in UTC."""

    DAY = "DAY", "A day."
    HOUR = "HOUR", "An hour. Counts per hour are kept for 90 days."


def _added(what: str) -> int | None:
    return field(f"Number of {what} added.", default=None)  # type: ignore[no-any-return]


def _removed(what: str) -> int | None:
    return field(f"Number of {what} removed.", default=None)  # type: ignore[no-any-return]


class Tally(Entity, pk="ANALYTICS#{scope}#{subject}", sk="{period}#{begins_at}", owner=PURGED_WITH, logged=False):
    """The counts of one period. Counts that never moved are absent."""

    scope: Scope = field("Kind of its subject.")
    subject: str = field("ID of the record that it is about.")
    period: AnalyticsPeriod = field("Length of the period.")
    begins_at: Time = field("Start of the period.")
    views: int | None = _added("views")
    votes: int | None = _added("votes")
    comments: int | None = _added("comments")
    likes: int | None = _added("likes")
    follows: int | None = _added("follows")
    posts: int | None = _added("posts")
    cards: int | None = _added("cards")
    users: int | None = _added("accounts")
    builds: int | None = _added("builds")
    content_changes: int | None = _added("versions of content")
    votes_removed: int | None = _removed("votes")
    comments_removed: int | None = _removed("comments")
    likes_removed: int | None = _removed("likes")
    follows_removed: int | None = _removed("follows")
    posts_removed: int | None = _removed("posts")
    cards_removed: int | None = _removed("cards")
    users_removed: int | None = _removed("accounts")


class TopList(
    Entity, pk="ANALYTICS#{scope}#{subject}", sk="TOP#{kind}#{metric}#{day}", owner=PURGED_WITH, logged=False
):
    """The objects with the highest count of a day."""

    scope: Scope = field("Whose objects these are.")
    subject: str = field("ID of the record whose objects these are.")
    kind: Scope = field("Kind of object.")
    metric: str = field("Name of the count.")
    day: Day = field("The day.")
    version: int = field("Increments on every change.", default=1)
    counts: dict[str, int] = field("Counts of up to 100 objects, by their IDs.")


class CountedObject(Entity, pk="ANALYTICS#{scope}#{subject}", sk="AUTHOR", owner=PURGED_WITH, logged=False):
    """The author of an object. What is purged with the object is still subtracted from the counts of its author."""

    scope: Scope = field("Kind of object.")
    subject: str = field("ID of the object.")
    author_id: str = field("User ID of the author.")
    gone_at: Time | None = field("Time the object was purged. A purge may be repeated.", default=None)


class CardViews(
    Entity,
    pk="VIEWS#{card_id}",
    sk="{batch_id}#{views}",
    owner=nobody("it names no account, and expires after two days"),
):
    """Views of a card that were added to it together. Tells analytics their number, which its key contains."""

    card_id: str = field("ID of the card.")
    batch_id: str = field("Identifier of the batch, so that it is added once.")
    views: int = field("Number of views.")
