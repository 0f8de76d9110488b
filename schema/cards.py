"""GraphQL types of how-to cards."""

import strawberry

from datastore import cards as stored
from datastore.model.times import Time
from resolvers.cards import (
    card_commands,
    category_commands,
    collection_commands,
    comment_commands,
    counts,
    edges,
    ranking,
    search,
    vote_commands,
)
from schema.accounts import User
from schema.declare.appended import Addition, appended
from schema.declare.commands import command
from schema.declare.connections import Carried, Connection
from schema.declare.edges import computed, derived, linked, many, one, total
from schema.declare.lookups import lookup
from schema.declare.money import Money
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, extend


@expose(stored.Card)
class Card(Node):
    estimated_cost: Money | None = derived(edges.estimated_cost)
    author: User | None = one(edges.author)
    category: "Category | None" = one(edges.card_category)
    view_count: int = total(counts.view_count)
    comment_count: int = total(counts.comment_count)
    upvote_count: int = total(counts.upvote_count)
    downvote_count: int = total(counts.downvote_count)
    vote_score: int = total(counts.vote_score)
    comments: Connection["CardComment"] = linked(edges.comments, to=None, count=counts.comment_count)
    votes: Connection["Vote"] = many(edges.votes, count=counts.vote_count)
    viewer_vote: "Vote | None" = one(edges.viewer_vote)


@expose(stored.CardComment)
class CardComment(Node):
    author: User | None = one(edges.author)
    card: Card | None = one(edges.commented_card)
    votes: Connection["Vote"] = many(edges.votes, count=edges.comment_vote_count)
    viewer_vote: "Vote | None" = one(edges.viewer_vote)


@expose(stored.Vote)
class Vote(Node):
    voter: User | None = one(edges.voter)
    card: Card | None = one(edges.voted_card)
    comment: CardComment | None = one(edges.voted_comment)


@expose(stored.Collection)
class Collection(Node):
    owner: User | None = one(edges.collector)
    cards: Connection[Card] = linked(
        edges.collected,
        to=edges.collected_card,
        count="card_count",
        added_at=Carried(Time, "created_at", "Time the card was added."),
    )


@expose(stored.Category)
class Category(Node):
    parent: "Category | None" = one(edges.parent)
    children: Connection["Category"] = many(edges.children, count="child_count")
    ancestors: list["Category"] = computed(edges.ancestors, weight=10)
    descendants: list["Category"] = computed(edges.descendants, weight=edges.MOST_CATEGORIES)
    path: list[str] = computed(edges.path)
    cards: Connection[Card] = many(edges.cards_in)


@extend(User)
class CardsUser:
    card_comments: Connection[CardComment] = many(edges.comments_by)
    collections: Connection[Collection] = many(edges.collections)
    votes: Connection[Vote] = many(edges.votes_by)
    cards: Connection[Card] | None = many(edges.cards_by)


class Query:
    card: Card | None = lookup(edges.card_by_database_id)
    cards_on: Connection[Card] = many(edges.cards_on)
    recent_cards: Connection[Card] = many(edges.recent_cards)
    top_cards: Connection[Card] = linked(ranking.top_cards, to=ranking.ranked_card)
    controversial_cards: Connection[Card] = linked(ranking.controversial_cards, to=ranking.ranked_card)
    trending_cards: Connection[Card] = linked(ranking.trending_cards, to=ranking.ranked_card)
    search_cards: Connection[Card] = many(search.search_cards, weight=50)
    collection: Collection | None = lookup(edges.collection_by_database_id)
    category: Category | None = lookup(edges.category_by_database_id)
    categories: Connection[Category] = many(edges.categories)
    category_tree: list[Category] = computed(edges.category_tree, weight=edges.MOST_CATEGORIES)


class CardPayload(Payload):
    card: Card | None = result("The card.")


class DeleteCardPayload(Payload):
    deleted_card_id: strawberry.ID | None = result("ID of the deleted card.")


class RecordViewPayload(Payload):
    recorded: bool | None = result(
        "True if the view will be counted. False if the viewer sent too many, or the server is at its limit."
    )


class CardCommentPayload(Payload):
    comment: CardComment | None = result("The comment.")


class DeleteCardCommentPayload(Payload):
    deleted_comment_id: strawberry.ID | None = result("ID of the deleted comment.")
    card: Card | None = result("The card it was on.")


class VotePayload(Payload):
    vote: Vote | None = result("The viewer's vote. Null once withdrawn.")
    card: Card | None = result("The card, for a vote on a card.")
    comment: CardComment | None = result("The comment, for a vote on a comment.")


class CollectionPayload(Payload):
    collection: Collection | None = result("The collection.")


class DeleteCollectionPayload(Payload):
    deleted_collection_id: strawberry.ID | None = result("ID of the deleted collection.")


class CategoryPayload(Payload):
    category: Category | None = result("The category.")


class CategoriesPayload(Payload):
    categories: list[Category] | None = result("The subcategories in their new order.")


class Mutation:
    create_card: CardPayload = command(card_commands.create_card)
    update_card: CardPayload = command(card_commands.update_card)
    publish_card: CardPayload = command(card_commands.publish_card)
    archive_card: CardPayload = command(card_commands.archive_card)
    delete_card: DeleteCardPayload = command(card_commands.delete_card)
    record_view: RecordViewPayload = command(card_commands.record_view)
    vote: VotePayload = command(vote_commands.vote)
    add_card_comment: CardCommentPayload = command(comment_commands.add_card_comment)
    update_card_comment: CardCommentPayload = command(comment_commands.update_card_comment)
    delete_card_comment: DeleteCardCommentPayload = command(
        comment_commands.delete_card_comment, replay=comment_commands.deleted_card_comment
    )
    create_collection: CollectionPayload = command(collection_commands.create_collection)
    update_collection: CollectionPayload = command(collection_commands.update_collection)
    delete_collection: DeleteCollectionPayload = command(collection_commands.delete_collection)
    add_to_collection: CollectionPayload = command(collection_commands.add_to_collection)
    remove_from_collection: CollectionPayload = command(collection_commands.remove_from_collection)
    move_in_collection: CollectionPayload = command(collection_commands.move_in_collection)
    create_category: CategoryPayload = command(category_commands.create_category)
    update_category: CategoryPayload = command(category_commands.update_category)
    move_category: CategoryPayload = command(category_commands.move_category)
    reorder_categories: CategoriesPayload = command(
        category_commands.reorder_categories, replay=category_commands.reordered_categories
    )


class Subscription:
    card_comment_added: Addition[CardComment] = appended(Card.comments)
