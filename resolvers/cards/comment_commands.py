"""Commands of comments on cards."""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import Card, CardComment
from datastore.client.writes import Check, Delete, Put, Update, Write, absent, exists
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.accounts.guards import is_open, no_account, write_for_account
from resolvers.cards.counts import counting, counts_key, write_counted
from resolvers.cards.jobs import purging_votes
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, refused
from resolvers.core.retry import write_or_refuse

CommentText = Annotated[str, Doc("Text of the comment."), Text(at_most=2_000)]


class DeletedCardComment(NamedTuple):
    deleted_comment_id: CardComment
    card: Card | None


@access(requires=AccessRole.SIGNED_IN)
async def add_card_comment(
    context: Context, *, card_id: Annotated[Key[Card], Doc("ID of the card.")], content: CommentText
) -> CardComment:
    """Adds a comment to a card."""
    user_id = context.signed_in
    card = await context.load.one(card_id)
    if card is None:
        raise not_found(card_id)
    comment = CardComment(card_id=card.card_id, comment_id=new_id(), author_id=user_id, content=content)
    account = Check(User.key(user_id=user_id), when=is_open())
    counted = counting(card, {"comment_count": 1})
    refusals: dict[Write, Refused] = {account: no_account(), counted: not_found(card_id)}
    await write_counted(context.load, card, account, counted, Put(comment, when=absent()), refusals=refusals)
    return comment


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR,))
async def update_card_comment(
    context: Context, *, comment_id: Annotated[Key[CardComment], Doc("ID of the comment.")], content: CommentText
) -> CardComment:
    """Edits a comment."""
    comment, _ = await _comment(context, comment_id)
    if comment.author_id != context.signed_in:
        raise refused(ProblemCode.FORBIDDEN, "only its author may edit a comment", at=comment_id)
    changed = comment.changed(content=content)
    await write_for_account(context, Update.of(comment, changed, when=exists() & absent("hidden_at")))
    return changed


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.AUTHOR, AccessRelation.CARD_AUTHOR))
async def delete_card_comment(
    context: Context, *, comment_id: Annotated[Key[CardComment], Doc("ID of the comment.")]
) -> DeletedCardComment:
    """Deletes a comment."""
    comment, card = await _comment(context, comment_id)
    if context.signed_in not in (comment.author_id, card.author_id):
        message = "only its author and the author of the card may delete a comment"
        raise refused(ProblemCode.FORBIDDEN, message, at=comment_id)
    removal = Delete(comment_id, when=exists() & absent("hidden_at"))
    counted = Update(counts_key(card.card_id), add={"comment_count": -1}, when=exists())
    account = Check(User.key(user_id=context.signed_in), when=is_open())
    gone = not_found(comment_id)
    refusals: dict[Write, Refused] = {account: no_account(), removal: gone, counted: gone}
    await write_or_refuse(context.load, account, removal, counted, purging_votes(comment), refusals=refusals)
    return DeletedCardComment(comment, await context.load.one(card.own_key))


async def deleted_card_comment(context: Context, keys: object, *, comment_id: Key[CardComment]) -> dict[str, Any]:
    """Replays `deleteCardComment`: its transaction does not name the card."""
    return {"card": await context.load.one(Card.key(card_id=comment_id.values["card_id"]))}


async def _comment(context: Context, key: Key[CardComment]) -> tuple[CardComment, Card]:
    """Returns a comment and its card with strongly consistent reads, if the viewer may see them."""
    card_key: Key[Any] = Card.key(card_id=key.values["card_id"])
    await context.load.fresh(key, card_key)
    comment, card = await context.load.one(key), await context.load.one(card_key)
    if comment is None or card is None:
        raise not_found(key)
    return comment, card
