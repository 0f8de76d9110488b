"""How-to cards: entities for cards, comments, votes, collections and categories."""

from datastore.model.codec import JSON, BigInt
from datastore.model.entity import Entity, field, own_id
from datastore.model.enums import Choice
from datastore.model.ownership import nobody, part_of, user
from datastore.model.patterns import gsi1, gsi2, gsi3, gsi4, gsi5
from datastore.model.times import Time


class Difficulty(Choice):
    """Skill level a card requires."""

    BEGINNER = "BEGINNER", "No prior knowledge."
    INTERMEDIATE = "INTERMEDIATE", "Basic knowledge."
    ADVANCED = "ADVANCED", "Solid experience."
    EXPERT = "EXPERT", "Professional experience."


class CardStatus(Choice):
    """Publication status of a card."""

    DRAFT = "DRAFT", "Work in progress, visible to its author only. Deleted 30 days after its last change."
    PUBLISHED = "PUBLISHED", "Visible to everyone."
    ARCHIVED = "ARCHIVED", "Unpublished, visible to its author only. Kept."


class Shelf(Choice):
    """The author's list a card is in."""

    LISTED = "CREATED", "Published cards."
    DRAFTS = "DRAFT", "Drafts."
    ARCHIVE = "ARCHIVED", "Archived cards."


class Card(Entity, pk="CARD#{card_id}", sk="METADATA", owner=user("author_id", "by_author", mark="hidden_at")):
    """A how-to card with step-by-step instructions."""

    in_category = gsi1("CAT#{category_id}", "CREATED#{listed_at}")
    by_author = gsi2("USER#{author_id}", "{shelf}#{shelved_at}")
    on_day = gsi3("DATE#{listed_on}", "CREATED#{listed_at}#{card_id}")
    by_time = gsi4("TYPE#CARD", "CREATED#{listed_at}#{card_id}")

    card_id: str = own_id()
    author_id: str = field("User ID of the author.", private=True)
    title: str = field("Title.")
    description: str | None = field("Short summary of the result.", default=None)
    image_urls: list[str] = field("URLs of its images.", default_factory=list)
    instructions: list[str] = field(
        "Instructions, one entry per step.", default_factory=list, compressed=True, heavy=True
    )
    materials: JSON = field(
        'Materials as a JSON object, such as `{"oil": "2 l"}`.', default_factory=dict, compressed=True, heavy=True
    )
    tools: list[str] = field("Tools required.", default_factory=list)
    category_id: str = field("ID of its category.", private=True)
    tags: list[str] = field("Tags for search.", default_factory=list)
    difficulty: Difficulty = field("Skill level required.")
    estimated_time: int | None = field("Estimated time in minutes.", default=None)
    estimated_cost: BigInt | None = field(
        "Estimated cost in the smallest unit of the currency.", default=None, private=True
    )
    estimated_cost_currency: str | None = field("Currency code of the cost, such as EUR.", default=None, private=True)
    status: CardStatus = field("Publication status.", default=CardStatus.DRAFT)
    published_at: Time | None = field("Time of first publication.", default=None)
    version: int = field("Increments on every change by its author. Pass it as `expectedVersion`.", default=1)
    count_shards: int = field(
        "Number of CardCounts items that share the counting; none before the first publication.",
        default=0,
        private=True,
    )
    listed_at: Time | None = field(
        "Equals `published_at` while the card is public, otherwise none.", default=None, private=True
    )
    listed_on: str | None = field("Date of `listed_at`.", default=None, private=True)
    shelf: Shelf | None = field("The author's list it is in. None once deleted.", default=None, private=True)
    shelved_at: Time | None = field("Sort key within that list.", default=None, private=True)
    deleted_at: Time | None = field("Time of deletion.", default=None, private=True)
    hidden_at: Time | None = field("Time the author's account was deleted.", default=None, private=True)


class CardCounts(Entity, pk="CARD#{card_id}", sk="COUNTS#{shard}", owner=part_of(Card)):
    """The counts of a card, or a shard of them while many people vote at a time.

    They are in no index, so that a vote writes one small item. They exist from the first publication of the card until
    its deletion.
    """

    card_id: str = field("ID of the card.")
    shard: int = field("Number of the shard, from 0.", default=0)
    listed_at: Time | None = field("Equals `listed_at` of the card: without it, nothing is counted.", default=None)
    view_count: int = field("Number of views counted here.", default=0)
    comment_count: int = field("Number of comments counted here; may be negative.", default=0)
    upvote_count: int = field("Number of upvotes counted here; may be negative.", default=0)
    downvote_count: int = field("Number of downvotes counted here; may be negative.", default=0)
    vote_score: int = field("Upvotes minus downvotes.", default=0)


class CardRank(Entity, pk="CARD#{card_id}", sk="RANK", owner=part_of(Card), logged=False):
    """The place of a public card in the rankings. The processor `rank_cards` derives it from the counts."""

    by_heat = gsi3("HOT#CARD#{day}", "HEAT#{heat:score}#{card_id}")
    by_controversy = gsi4("VOTETYPE#CONTROVERSY", "SCORE#{controversy:score}#{card_id}")
    by_score = gsi5("VOTETYPE#CARD", "SCORE#{score:score}#{card_id}")

    card_id: str = field("ID of the card.")
    day: str = field("Date of publication.")
    heat: BigInt = field("Hot score: time of publication and activity.")
    score: BigInt = field("Upvotes minus downvotes.")
    controversy: BigInt | None = field("Controversy score: many votes, evenly divided.", default=None)


class CardComment(
    Entity,
    pk="CARD#{card_id}",
    sk="COMMENT#{created_at}#{comment_id}",
    owner=user("author_id", "by_author", mark="hidden_at"),
):
    """A comment on a card."""

    by_author = gsi1("USER#{author_id}", "CARDCOMMENT#{created_at}#{card_id}")

    card_id: str = field("ID of the card.", private=True)
    comment_id: str = own_id()
    author_id: str = field("User ID of the author.", private=True)
    content: str = field("Text of the comment.")
    upvote_count: int = field("Number of upvotes.", default=0)
    downvote_count: int = field("Number of downvotes.", default=0)
    vote_score: int = field("Upvotes minus downvotes.", default=0)
    hidden_at: Time | None = field("Time the author's account was deleted.", default=None, private=True)


class CardCommentRank(
    Entity,
    pk="CARD#{card_id}",
    sk="COMMENTRANK#{created_at}#{comment_id}",
    owner=part_of(CardComment),
    logged=False,
):
    """The place of a comment among those of its card. The processor `rank_card_comments` derives it from the votes."""

    by_score = gsi5("CARD#{card_id}", "COMMENTSCORE#{score:score}#{comment_id}")

    card_id: str = field("ID of the card.")
    comment_id: str = field("ID of the comment.")
    score: BigInt = field("Upvotes minus downvotes.")


class VoteDirection(Choice):
    """Direction of a vote."""

    UP = "UP", "An upvote."
    DOWN = "DOWN", "A downvote."


class Vote(Entity, pk="VOTE#{user_id}#{target_id}", sk="VOTE", owner=user("user_id", "by_voter", mark="hidden_at")):
    """A user's vote on a card or on a comment."""

    on_target = gsi1("TARGET#{target_id}", "VOTE#{created_at}")
    by_voter = gsi2("USER#{user_id}", "VOTE#{created_at}")

    user_id: str = field("User ID of the voter.", private=True)
    target_id: str = field("ID of the card or comment voted on.", private=True)
    direction: VoteDirection = field("Direction of the vote.")
    card_id: str = field("ID of the card, or of the card commented on.", private=True)
    commented_at: Time | None = field(
        "Creation time of the comment, for a vote on a comment.", default=None, private=True
    )
    hidden_at: Time | None = field("Time the voter's account was deleted.", default=None, private=True)


class Collection(Entity, pk="USER#{user_id}", sk="COLLECTION#{collection_id}", owner=user("user_id")):
    """A user's collection of cards."""

    by_id = gsi1("COLLECTION#{collection_id}", "METADATA")

    user_id: str = field("User ID of the owner.", private=True)
    collection_id: str = own_id()
    name: str = field("Display name.")
    description: str | None = field("Description.", default=None)
    is_public: bool = field("True if other users can see it.", default=True)
    card_count: int = field("Number of cards in the collection, including those the viewer cannot see.", default=0)


class CollectionCard(Entity, pk="COLLECTION#{collection_id}", sk="CARD#{card_id}", owner=part_of(Collection)):
    """Membership of a card in a collection."""

    of_card = gsi1("CARD#{card_id}", "COLLECTED#{created_at}#{collection_id}")
    in_order = gsi2("COLLECTION#{collection_id}", "PLACE#{place}#{card_id}")

    collection_id: str = field("ID of the collection.")
    user_id: str = field("User ID of the collection's owner.")
    card_id: str = field("ID of the card.")
    place: str = field("Position in the collection, as text that sorts in display order.")
    hidden_at: Time | None = field("Time the account of the card's author was deleted.", default=None, private=True)


ROOT = "ROOT"
"""The `parent_id` of a top-level category."""


class Category(Entity, pk="CAT#{category_id}", sk="METADATA", owner=nobody("administrators curate the categories")):
    """A category in the tree of subjects."""

    children_of = gsi1("PARENT#{parent_id}", "SORT#{sort_order:08d}#{category_id}")

    category_id: str = own_id("Permanent identifier: letters a-z, digits and dashes.")
    name: str = field("Display name.")
    description: str | None = field("Description of the cards it holds.", default=None)
    parent_id: str = field("ID of the parent category, or ROOT.", default=ROOT, private=True)
    sort_order: int = field("Position among its siblings.", default=0)
    child_count: int = field("Number of direct subcategories.", default=0)
