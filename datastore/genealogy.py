"""Family trees: people, who is whose parent, who married whom, and who may look.

Everything in a tree is in the partition of its owner, and once more in that of the tree: a whole tree is one range.
"""

from datastore.model.dates import HistoricDate
from datastore.model.entity import Entity, Mixed, field
from datastore.model.enums import Choice
from datastore.model.times import Time


class Gender(Choice):
    """Which words are used for a person."""

    MALE = "MALE", "A man: father, son, husband."
    FEMALE = "FEMALE", "A woman: mother, daughter, wife."
    OTHER = "OTHER", "Neither: parent, child, spouse."
    UNKNOWN = "UNKNOWN", "Not known: parent, child, spouse."


class ParentageKind(Choice):
    """How somebody is a child's parent."""

    BIOLOGICAL = "BIOLOGICAL", "By birth."
    ADOPTIVE = "ADOPTIVE", "By adoption."
    STEP = "STEP", "As the spouse of a parent."
    FOSTER = "FOSTER", "By bringing the child up."


class MarriageStatus(Choice):
    """What became of a marriage or partnership."""

    MARRIED = "MARRIED", "They are together, or nothing else is known."
    DIVORCED = "DIVORCED", "They ended it."
    WIDOWED = "WIDOWED", "One of them died."
    SEPARATED = "SEPARATED", "They live apart and have not ended it."
    PARTNERS = "PARTNERS", "They are or were together, and nothing is said of a marriage."


class Tree(
    Entity,
    pk="USER#{user_id}",
    sk="TREE#{tree_id}",
    gsi1=("TREE#{tree_id}", "USER#{user_id}"),
    gsi2=("TREE#{tree_id}", "TREE#METADATA"),
    gsi3=("USER#{user_id}", "TREE#{created_at}"),
):
    """A family, as far as somebody knows it."""

    user_id: str = field("Whose it is.", private=True)
    tree_id: str = field("The permanent identifier.")
    name: str = field("What it is called.")
    description: str | None = field("What there is to say about it.", default=None)
    root_person_id: str | None = field("The person it begins with.", default=None, private=True)
    is_public: bool = field("Whether everybody sees it; of those who may be living, only that they are.", default=False)
    person_count: int = field("How many people are in it.", default=0)
    links_changed: int = field("Goes up with every link between people.", default=0, private=True)
    begun_import: str | None = field("The file it was begun for, by its fingerprint.", default=None, private=True)
    imports: list[str] = field("The fingerprints of the files that were imported.", default_factory=list, private=True)
    deleted_at: Time | None = field("When it was deleted.", default=None, private=True)


class TreeRole(Choice):
    """What somebody may do in another's tree."""

    READER = "READER", "Look at everything."
    EDITOR = "EDITOR", "Change people and links too."


class TreeShare(
    Entity,
    pk="USER#{shared_with_id}",
    sk="SHARED#TREE#{tree_id}",
    gsi2=("TREE#{tree_id}", "SHARE#{shared_with_id}"),
):
    """Somebody may look at another's tree."""

    shared_with_id: str = field("Who may.")
    tree_id: str = field("The tree.")
    user_id: str = field("Whose tree it is.")
    role: TreeRole = field("What they may do.")


class Person(
    Entity,
    pk="USER#{user_id}",
    sk="PERSON#{person_id}",
    gsi1=("PERSON#{person_id}", "TREE#{tree_id}"),
    gsi2=("TREE#{tree_id}", "PERSON#{person_id}"),
    gsi3=("USER#{user_id}", "PERSON#{created_at}#{number}"),
):
    """Somebody in a family tree."""

    user_id: str = field("Whose tree it is.", private=True)
    person_id: str = field("The permanent identifier.")
    tree_id: str = field("The tree.", private=True)
    number: int = field("Tells apart who was added at the same time.", default=1, private=True)
    first_name: str | None = field("The first name.", default=None)
    middle_name: str | None = field("What comes between the first and the last name.", default=None)
    last_name: str | None = field("The family name.", default=None)
    birth_name: str | None = field("The family name at birth.", default=None)
    preferred_name: str | None = field("What they are called by those who know them.", default=None)
    suffix: str | None = field("What comes behind the name, such as Jr. or III.", default=None)
    gender: Gender = field("Which words are used for them.", default=Gender.UNKNOWN)
    birth_date: HistoricDate | None = field("When they were born.", default=None)
    birth_place: str | None = field("Where they were born.", default=None)
    death_date: HistoricDate | None = field("When they died.", default=None)
    death_place: str | None = field("Where they died.", default=None)
    is_deceased: bool = field("Whether they are known to have died, be it that nobody knows when.", default=False)
    biography: str | None = field("Their life.", default=None, compressed=True, heavy=True)
    photo_url: str | None = field("Where their picture is.", default=None)
    version: int = field("Goes up with every change; for `expectedVersion`.", default=1)
    parent_ids: list[str] = field("Who their parents are.", default_factory=list, private=True)
    biological_parents: int = field("How many of these by birth.", default=0, private=True)
    file: str | None = field("The file they came from: how its fingerprint begins.", default=None, private=True)
    xref: str | None = field("What they are called in the file they came from.", default=None, private=True)
    kept: str | None = field(
        "What else that file says of them, as it says it.", default=None, compressed=True, heavy=True, private=True
    )
    deleted_at: Time | None = field("When they were deleted.", default=None, private=True)


class Parentage(
    Entity,
    pk="USER#{user_id}",
    sk="PERSON#{parent_id}#CHILD#{child_id}",
    gsi1=("PERSON#{child_id}", "PARENT#{parent_id}"),
    gsi2=("TREE#{tree_id}", "RELATIONSHIP#PARENT#{parent_id}#{child_id}"),
):
    """Somebody is somebody's parent."""

    user_id: str = field("Whose tree it is.", private=True)
    tree_id: str = field("The tree.", private=True)
    parent_id: str = field("The parent.", private=True)
    child_id: str = field("The child.", private=True)
    kind: ParentageKind = field("How they are the child's parent.", default=ParentageKind.BIOLOGICAL)
    adoption_date: HistoricDate | None = field("When the child was adopted.", default=None)
    notes: str | None = field("What else there is to say.", default=None)


class Marriage(
    Entity,
    pk="USER#{user_id}",
    sk="PERSON#{person1_id}#SPOUSE#{person2_id}",
    gsi1=("PERSON#{person2_id}", "SPOUSE#{person1_id}"),
    gsi2=("TREE#{tree_id}", "RELATIONSHIP#SPOUSE#{person1_id}#{person2_id}"),
):
    """Two are or were a couple. The one whose identifier sorts first is the first of them."""

    user_id: str = field("Whose tree it is.", private=True)
    tree_id: str = field("The tree.", private=True)
    person1_id: str = field("One of them.", private=True)
    person2_id: str = field("The other one.", private=True)
    status: MarriageStatus = field("What became of it.", default=MarriageStatus.MARRIED)
    marriage_date: HistoricDate | None = field("When they married.", default=None)
    marriage_place: str | None = field("Where they married.", default=None)
    divorce_date: HistoricDate | None = field("When they divorced.", default=None)
    notes: str | None = field("What else there is to say.", default=None)


class GedcomPart(Entity, pk="USER#{user_id}", sk="GEDCOM#{tree_id}#{part_id}"):
    """What a file says besides of people and links: its families as it has them, its sources, its header."""

    user_id: str = field("Whose tree it is.")
    tree_id: str = field("The tree.")
    # All parts of a kind and a file are one text, in this order.
    part_id: str = field("The kind, the file and the place of the part.")
    text: str = field("A piece of lines of JSON.", compressed=True)


WHOLE_TREE = Mixed(Person, Parentage, Marriage)
"""All that kinship takes."""
