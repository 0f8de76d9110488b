"""Events of cards that webhooks are told about."""

from collections.abc import Sequence

from datastore.accounts import User
from datastore.cards import Card, CardComment, CardStatus
from datastore.webhooks import USER, HookOwner, WebhookEvent
from loaders.needs import Items, Step
from resolvers.webhooks.events import tells, user


def _author_of_card(comment: CardComment) -> Step[Sequence[HookOwner]]:
    (card,) = yield Items([Card.key(card_id=comment.card_id)])
    return [HookOwner(USER, card.author_id)] if card is not None else []


tells(
    WebhookEvent.CARD_PUBLISHED,
    Card,
    at=lambda card: card.published_at if card.status is CardStatus.PUBLISHED else None,
    told=user("author_id"),
    fields=("card_id", "title", "description", "tags", "difficulty", "published_at", "version"),
)
tells(
    WebhookEvent.CARD_COMMENT_CREATED,
    CardComment,
    at=lambda comment: comment.created_at,
    told=_author_of_card,
    fields=("comment_id", "content", "created_at"),
    links={
        "authorId": lambda comment: User.key(user_id=comment.author_id),
        "cardId": lambda comment: Card.key(card_id=comment.card_id),
    },
)
