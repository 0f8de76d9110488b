"""How-to cards in the graph."""

import strawberry

from datastore import cards as stored
from datastore.times import Time
from resolvers import (
    cards,
    cards_categories,
    cards_collections,
    cards_commands,
    cards_ranking,
    cards_search,
    cards_votes,
)
from schema.connections import Carried, Connection
from schema.edges import command, computed, linked, many, one
from schema.problems import Payload, result
from schema.types import Node, expose, extend
from schema.users import User


@expose(stored.Card)
class Card(Node):
    author: User | None = one(cards.author)
    category: "Category | None" = one(cards.card_category)
    comments: Connection["CardComment"] = many(cards.comments, count=lambda card: card.comment_count)
    votes: Connection["Vote"] = many(cards.votes, count=lambda card: card.upvote_count + card.downvote_count)
    viewer_vote: "Vote | None" = one(cards.viewer_vote)


@expose(stored.CardComment)
class CardComment(Node):
    author: User | None = one(cards.author)
    card: Card | None = one(cards.commented_card)
    votes: Connection["Vote"] = many(cards.votes, count=lambda comment: comment.upvote_count + comment.downvote_count)
    viewer_vote: "Vote | None" = one(cards.viewer_vote)


@expose(stored.Vote)
class Vote(Node):
    voter: User | None = one(cards.voter)
    card: Card | None = one(cards.voted_card)
    comment: CardComment | None = one(cards.voted_comment)


@expose(stored.Collection)
class Collection(Node):
    owner: User | None = one(cards.collector)
    cards: Connection[Card] = linked(
        cards.collected,
        to=cards.collected_card,
        count=lambda collection: collection.card_count,
        added_at=Carried(Time, "created_at", "When it was added."),
    )


@expose(stored.Category)
class Category(Node):
    parent: "Category | None" = one(cards.parent)
    children: Connection["Category"] = many(cards.children, count=lambda category: category.child_count)
    ancestors: list["Category"] | None = computed(cards.ancestors, weight=10)
    descendants: list["Category"] | None = computed(cards.descendants, weight=cards.MOST_CATEGORIES)
    path: list[str] | None = computed(cards.path)
    cards: Connection[Card] = many(cards.cards_in)


@extend(User)
class CardsUser:
    card_comments: Connection[CardComment] = many(cards.comments_by)
    collections: Connection[Collection] = many(cards.collections)
    votes: Connection[Vote] = many(cards.votes_by)
    cards: Connection[Card] = many(cards.cards_by)


class Query:
    card: Card | None = one(cards.card)
    cards_on: Connection[Card] = many(cards.cards_on)
    top_cards: Connection[Card] = many(cards.top_cards)
    controversial_cards: Connection[Card] = many(cards.controversial_cards)
    trending_cards: Connection[Card] = many(cards_ranking.trending_cards, weight=1_000)
    search_cards: Connection[Card] = many(cards_search.search_cards, weight=1_000)
    collection: Collection | None = one(cards.collection)
    collection_by_collection_id: Collection | None = one(cards.collection_by_collection_id)
    category: Category | None = one(cards.category)
    category_by_category_id: Category | None = one(cards.category_by_category_id)
    categories: Connection[Category] = many(cards.categories)
    category_tree: list[Category] | None = computed(cards.category_tree, weight=cards.MOST_CATEGORIES)


class CardPayload(Payload):
    card: Card | None = result("The card as it is now.")


class DeleteCardPayload(Payload):
    deleted_card_id: strawberry.ID | None = result("The `id` of what is gone.")


class RecordViewPayload(Payload):
    recorded: bool | None = result(
        "Whether it will be counted; false for too many at once, and on a server at its limits."
    )


class CardCommentPayload(Payload):
    comment: CardComment | None = result("The comment as it is now.")


class DeleteCardCommentPayload(Payload):
    deleted_comment_id: strawberry.ID | None = result("The `id` of what is gone.")
    card: Card | None = result("The card it was about.")


class VotePayload(Payload):
    vote: Vote | None = result("One's vote; null once it is withdrawn.")
    card: Card | None = result("The card as it is now, if the vote is on one.")
    comment: CardComment | None = result("The comment as it is now, if the vote is on one.")


class CollectionPayload(Payload):
    collection: Collection | None = result("The collection as it is now.")


class DeleteCollectionPayload(Payload):
    deleted_collection_id: strawberry.ID | None = result("The `id` of what is gone.")


class CategoryPayload(Payload):
    category: Category | None = result("The category as it is now.")


class CategoriesPayload(Payload):
    categories: list[Category] | None = result("What is in the category, in its new order.")


class Mutation:
    create_card: CardPayload = command(cards_commands.create_card)
    update_card: CardPayload = command(cards_commands.update_card)
    publish_card: CardPayload = command(cards_commands.publish_card)
    archive_card: CardPayload = command(cards_commands.archive_card)
    delete_card: DeleteCardPayload = command(cards_commands.delete_card)
    record_view: RecordViewPayload = command(cards_commands.record_view)
    vote: VotePayload = command(cards_votes.vote)
    add_card_comment: CardCommentPayload = command(cards_commands.add_card_comment)
    edit_card_comment: CardCommentPayload = command(cards_commands.edit_card_comment)
    delete_card_comment: DeleteCardCommentPayload = command(cards_commands.delete_card_comment)
    create_collection: CollectionPayload = command(cards_collections.create_collection)
    update_collection: CollectionPayload = command(cards_collections.update_collection)
    delete_collection: DeleteCollectionPayload = command(cards_collections.delete_collection)
    add_to_collection: CollectionPayload = command(cards_collections.add_to_collection)
    remove_from_collection: CollectionPayload = command(cards_collections.remove_from_collection)
    move_in_collection: CollectionPayload = command(cards_collections.move_in_collection)
    create_category: CategoryPayload = command(cards_categories.create_category)
    update_category: CategoryPayload = command(cards_categories.update_category)
    move_category: CategoryPayload = command(cards_categories.move_category)
    reorder_categories: CategoriesPayload = command(cards_categories.reorder_categories)
