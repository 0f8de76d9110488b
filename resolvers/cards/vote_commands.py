"""Votes on cards and on comments."""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import Card, CardComment, Vote, VoteDirection
from datastore.client.writes import Check, Delete, Put, Update, Write, absent, equals, exists, same
from datastore.model.entity import Entity
from datastore.model.enums import Choice
from datastore.model.keys import Key
from resolvers.accounts.guards import is_open, no_account
from resolvers.cards.counts import counting, write_counted
from resolvers.cards.edges import target_id as id_of_target
from resolvers.core.access import AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse

COUNTS = {VoteDirection.UP: ("upvote_count", 1), VoteDirection.DOWN: ("downvote_count", -1)}


class Ballot(Choice):
    """A vote to cast."""

    UP = "UP", "An upvote."
    DOWN = "DOWN", "A downvote."
    WITHDRAW = "WITHDRAW", "Withdraws the vote."


DIRECTIONS = {Ballot.UP: VoteDirection.UP, Ballot.DOWN: VoteDirection.DOWN, Ballot.WITHDRAW: None}


class Voted(NamedTuple):
    vote: Vote | None
    card: Card | None
    comment: CardComment | None


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def vote(
    context: Context,
    *,
    target_id: Annotated[Key[Entity], Doc("ID of a card or of a comment on one.")],
    ballot: Annotated[Ballot, Doc("The vote. Replaces the viewer's earlier one.")],
) -> Voted:
    """Votes on a card or comment, or withdraws the viewer's vote. Idempotent."""
    if target_id.entity not in (Card, CardComment):
        message = f"you can vote on a Card or a CardComment, but this is the ID of a {target_id.entity.__name__}"
        raise refused(ProblemCode.INVALID, message, at=target_id)
    key: Key[Any] = target_id
    wanted = DIRECTIONS[ballot]
    user_id, values = context.signed_in, key.values
    card_key: Key[Any] = Card.key(card_id=values["card_id"])
    vote_key: Key[Any] = Vote.key(user_id=user_id, target_id=values.get("comment_id", values["card_id"]))
    own, card, *_ = await context.load.fresh(*dict.fromkeys((vote_key, card_key, key)))
    target = await context.load.one(key)
    if target is None or card is None or card.listed_at is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such card or comment", at=target_id)
    is_card = key.entity is Card
    is_marked = own is not None and own.hidden_at is not None
    if is_marked or (own.direction if own else None) is not wanted:
        own = await _cast(context, target, own, wanted)
        # The counts of a card are items of their own: the card itself is unchanged.
        if not is_card:
            (target,) = await context.load.fresh(key)
    return Voted(own, target if is_card else None, None if is_card else target)


async def _cast(
    context: Context, target: Card | CardComment, own: Vote | None, wanted: VoteDirection | None
) -> Vote | None:
    """Writes the vote and its counts, on the condition that the earlier vote is unchanged."""
    vote = Vote(
        user_id=context.signed_in,
        target_id=id_of_target(target),
        direction=wanted or VoteDirection.UP,
        card_id=target.card_id,
        commented_at=target.created_at if isinstance(target, CardComment) else None,
    )
    # A vote with a mark is in no count: the account was restored, and a job has not got to it.
    before = own.direction if own and own.hidden_at is None else None
    still = exists() & equals("direction", own.direction) & same("hidden_at", own.hidden_at) if own else absent()
    change: Write = Put(vote, when=still) if wanted else Delete(vote.own_key, when=still)
    counted = _counted(target, moves(before, wanted))
    account = Check(User.key(user_id=vote.user_id), when=is_open())
    refusals: dict[Write, Refused] = {account: no_account()}
    if isinstance(target, Card):
        await write_counted(context.load, target, account, change, counted, refusals=refusals)
    else:
        await write_or_refuse(context.load, account, change, counted, refusals=refusals)
    return vote if wanted else None


def _counted(target: Card | CardComment, add: dict[str, int]) -> Update:
    if isinstance(target, Card):
        return counting(target, add)
    return Update(target.own_key, add=add, when=exists() & absent("hidden_at"))


def moves(before: VoteDirection | None, wanted: VoteDirection | None) -> dict[str, int]:
    """Returns the changes to the counts of the target."""
    changes: dict[str, int] = {}
    for direction, step in ((before, -1), (wanted, 1)):
        if direction:
            name, score = COUNTS[direction]
            changes[name] = step
            changes["vote_score"] = changes.get("vote_score", 0) + step * score
    return changes
