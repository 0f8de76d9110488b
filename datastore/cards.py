"""How-to cards: what people know how to do, what others think of it, and where it is kept."""

from datastore.model.codec import JSON
from datastore.model.entity import Entity, field
from datastore.model.enums import Choice
from datastore.model.times import Time


class Difficulty(Choice):
    """What one has to know before."""

    BEGINNER = "BEGINNER", "Nothing."
    INTERMEDIATE = "INTERMEDIATE", "The basics."
    ADVANCED = "ADVANCED", "The trade."
    EXPERT = "EXPERT", "All of it."


class CardStatus(Choice):
    """How far a card has come."""

    DRAFT = "DRAFT", "Being written, for its author alone; gone 30 days after its last change."
    PUBLISHED = "PUBLISHED", "For everybody."
    ARCHIVED = "ARCHIVED", "Taken back, for its author alone; kept."


class Shelf(Choice):
    """Where a card stands among those of its author."""

    LISTED = "CREATED", "With those for everybody."
    DRAFTS = "DRAFT", "With the drafts."
    ARCHIVE = "ARCHIVED", "With those that were taken back."


class Card(
    Entity,
    pk="CARD#{card_id}",
    sk="METADATA",
    gsi1=("CAT#{category_id}", "CREATED#{listed_at}"),
    gsi2=("USER#{author_id}", "{shelf}#{shelved_at}"),
    gsi3=("DATE#{listed_on}", "CREATED#{listed_at}#{card_id}"),
    gsi4=("VOTETYPE#CONTROVERSY", "SCORE#{controversy:score}#{card_id}"),
    gsi5=("VOTETYPE#CARD", "SCORE#{ranked_score:score}#{card_id}"),
):
    """How to do something, and to do it well."""

    card_id: str = field("The permanent identifier.")
    author_id: str = field("Who wrote it.")
    title: str = field("What it is about.")
    description: str | None = field("What one gets.", default=None)
    image_urls: list[str] = field("Where its pictures are.", default_factory=list)
    instructions: list[str] = field("What to do, step by step.", default_factory=list, compressed=True, heavy=True)
    materials: JSON = field(
        'What it takes: a JSON object, such as `{"oil": "2 l"}`.', default_factory=dict, compressed=True, heavy=True
    )
    tools: list[str] = field("What to do it with.", default_factory=list)
    category_id: str = field("Its category.", private=True)
    tags: list[str] = field("Words to find it by.", default_factory=list)
    difficulty: Difficulty = field("What one has to know before.")
    estimated_time: int | None = field("How long it takes, in minutes.", default=None)
    estimated_cost: int | None = field("What it costs, in whole units of the author's currency.", default=None)
    status: CardStatus = field("How far it has come.", default=CardStatus.DRAFT)
    published_at: Time | None = field("When it was first published.", default=None)
    version: int = field("Goes up with every change by its author; for `expectedVersion`.", default=1)
    view_count: int = field("How often it was looked at; up to about ten seconds late.", default=0)
    comment_count: int = field("How many comments it has.", default=0)
    upvote_count: int = field("How many vote for it.", default=0)
    downvote_count: int = field("How many vote against it.", default=0)
    vote_score: int = field("Votes for it less votes against it.", default=0)
    vote_changes: int = field("Goes up with every vote, whatever it says.", default=0, private=True)
    ranked_changes: int | None = field("`vote_changes` when it was last ranked.", default=None, private=True)
    ranked_score: int | None = field("The score it is listed by; none unless it is listed.", default=None, private=True)
    controversy: int | None = field("How many votes there are and how divided.", default=None, private=True)
    listed_at: Time | None = field("`published_at` while everybody sees it, else none.", default=None, private=True)
    listed_on: str | None = field("The day of that.", default=None, private=True)
    shelf: Shelf | None = field("Where it is among its author's; none once it is deleted.", default=None, private=True)
    shelved_at: Time | None = field("Its place there.", default=None, private=True)
    deleted_at: Time | None = field("When it was deleted.", default=None, private=True)
    hidden_at: Time | None = field("When its author's account was deleted.", default=None, private=True)


class SearchTerm(Entity, pk="CARD#{card_id}", sk="SEARCH#{term}", gsi4=("SEARCH#{term}", "CARD#{card_id}")):
    """A card is found by this term: a word of it, or the beginning of some."""

    card_id: str = field("The card.")
    term: str = field("The term.")
    words: dict[str, int] = field("The words of the card that begin with it, and what each is worth.")


class CardComment(
    Entity,
    pk="CARD#{card_id}",
    sk="COMMENT#{created_at}#{comment_id}",
    gsi1=("USER#{author_id}", "CARDCOMMENT#{created_at}#{card_id}"),
):
    """What somebody says about a card."""

    card_id: str = field("The card it is about.", private=True)
    comment_id: str = field("The permanent identifier.")
    author_id: str = field("Who wrote it.")
    content: str = field("What it says.")
    upvote_count: int = field("How many vote for it.", default=0)
    downvote_count: int = field("How many vote against it.", default=0)
    vote_score: int = field("Votes for it less votes against it.", default=0)
    hidden_at: Time | None = field("When its author's account was deleted.", default=None, private=True)


class VoteDirection(Choice):
    """What a vote says."""

    UP = "UP", "For it."
    DOWN = "DOWN", "Against it."


class Vote(
    Entity,
    pk="VOTE#{user_id}#{target_id}",
    sk="VOTE",
    gsi1=("TARGET#{target_id}", "VOTE#{created_at}"),
    gsi2=("USER#{user_id}", "VOTE#{created_at}"),
):
    """What somebody thinks of a card, or of a comment on one."""

    user_id: str = field("Who votes.")
    target_id: str = field("What the vote is on: a card's or a comment's identifier.")
    direction: VoteDirection = field("What it says.")
    card_id: str = field("The card, or the one that the comment is about.", private=True)
    commented_at: Time | None = field("When the comment was made, if it is on one.", default=None, private=True)


class Collection(
    Entity,
    pk="USER#{user_id}",
    sk="COLLECTION#{collection_id}",
    gsi1=("COLLECTION#{collection_id}", "METADATA"),
):
    """Cards that somebody keeps together."""

    user_id: str = field("Whose it is.")
    collection_id: str = field("The permanent identifier.")
    name: str = field("What it is called.")
    description: str | None = field("What there is to say about it.", default=None)
    is_public: bool = field("Whether others see it.", default=True)
    card_count: int = field("How many cards are in it, be it that one may not see some of them any more.", default=0)


class CollectionCard(
    Entity,
    pk="COLLECTION#{collection_id}",
    sk="CARD#{card_id}",
    gsi1=("CARD#{card_id}", "COLLECTED#{created_at}#{collection_id}"),
    gsi2=("COLLECTION#{collection_id}", "PLACE#{place}#{card_id}"),
):
    """A card is in a collection."""

    collection_id: str = field("The collection.")
    user_id: str = field("Whose collection it is.")
    card_id: str = field("The card.")
    place: str = field("Where in the collection it is: the order of the text is the order of the cards.")


ROOT = "ROOT"
"""The `parent_id` of a category that is part of no other."""


class Category(
    Entity,
    pk="CAT#{category_id}",
    sk="METADATA",
    gsi1=("PARENT#{parent_id}", "SORT#{sort_order:08d}#{category_id}"),
):
    """What cards are about: a tree of subjects."""

    category_id: str = field("The permanent identifier: letters a-z, digits and dashes.")
    name: str = field("What it is called.")
    description: str | None = field("What belongs in it.", default=None)
    parent_id: str = field("The category it is part of, or ROOT.", default=ROOT, private=True)
    sort_order: int = field("Its place among its siblings.", default=0)
    child_count: int = field("How many categories are directly in it.", default=0)
