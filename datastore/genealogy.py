"""Family trees: entities for trees, shares, people, parentages and marriages.

A record lives in its owner's partition and, through an index, in its tree's: a whole tree is one range.
"""

from datetime import UTC, datetime

from datastore.model.dates import HistoricDate, earliest, latest, sort_key
from datastore.model.entity import Entity, field, own_id
from datastore.model.enums import Choice
from datastore.model.mixed import Mixed
from datastore.model.ownership import part_of, user
from datastore.model.patterns import gsi1, gsi2, gsi3, gsi4, gsi5
from datastore.model.sorting import sort_text
from datastore.model.times import Time


class Gender(Choice):
    """Gender of a person. Determines kinship terms."""

    MALE = "MALE", "Male: father, son, husband."
    FEMALE = "FEMALE", "Female: mother, daughter, wife."
    OTHER = "OTHER", "Another gender: parent, child, spouse."
    UNKNOWN = "UNKNOWN", "Unknown: parent, child, spouse."


class ParentageKind(Choice):
    """Kind of parent-child relationship."""

    BIOLOGICAL = "BIOLOGICAL", "Biological parent."
    ADOPTIVE = "ADOPTIVE", "Adoptive parent."
    STEP = "STEP", "Spouse of a parent."
    FOSTER = "FOSTER", "Foster parent."


class MarriageStatus(Choice):
    """Status of a marriage or partnership."""

    MARRIED = "MARRIED", "Married, or nothing else is known."
    DIVORCED = "DIVORCED", "Divorced."
    WIDOWED = "WIDOWED", "Ended by the death of a spouse."
    SEPARATED = "SEPARATED", "Living apart, not divorced."
    PARTNERS = "PARTNERS", "Partners; no marriage is recorded."


class Tree(Entity, pk="USER#{user_id}", sk="TREE#{tree_id}", owner=user("user_id")):
    """A family tree."""

    by_id = gsi1("TREE#{tree_id}", "USER#{user_id}")
    of_tree = gsi2("TREE#{tree_id}", "TREE#METADATA")
    by_owner = gsi3("USER#{user_id}", "TREE#{created_at}")

    user_id: str = field("User ID of the owner.", private=True)
    tree_id: str = own_id()
    name: str = field("Display name.")
    description: str | None = field("Description.", default=None)
    root_person_id: str | None = field("ID of the root person.", default=None, private=True)
    is_public: bool = field(
        "True if everyone can see the tree. Details of people who may be living stay hidden.", default=False
    )
    person_count: int = field("Number of people in the tree.", default=0)
    links_changed: int = field("Increments on every change to a link between people.", default=0, private=True)
    begun_import: str | None = field("Fingerprint of the file whose import has started.", default=None, private=True)
    imports: list[str] = field("Fingerprints of the imported files.", default_factory=list, private=True)
    deleted_at: Time | None = field("Time of deletion.", default=None, private=True)


class TreeRole(Choice):
    """Role of a user a tree is shared with."""

    READER = "READER", "May read everything."
    EDITOR = "EDITOR", "May also edit people and links."


class TreeShare(
    Entity,
    pk="USER#{shared_with_id}",
    sk="SHARED#TREE#{tree_id}",
    owner=part_of(Tree),
    about=user("shared_with_id"),
):
    """Access to a tree granted to another user."""

    of_tree = gsi2("TREE#{tree_id}", "SHARE#{shared_with_id}")

    shared_with_id: str = field("User ID of the user with access.")
    tree_id: str = field("ID of the tree.")
    user_id: str = field("User ID of the tree's owner.")
    role: TreeRole = field("Role granted.")


LIVES_AT_MOST = 110

# Partitions of the indexes of people. Strangers read only those who were dead when they were last written.
DEAD, LIVING = "DEAD", "LIVING"
# Sorts after every date.
UNKNOWN_BIRTH = "~"


class Person(Entity, pk="USER#{user_id}", sk="PERSON#{person_id}", owner=part_of(Tree)):
    """A person in a family tree."""

    by_id = gsi1("PERSON#{person_id}", "TREE#{tree_id}")
    of_tree = gsi2("TREE#{tree_id}", "PERSON#{person_id}")
    by_owner = gsi3("USER#{user_id}", "PERSON#{created_at}#{number}")
    by_name = gsi4("TREE#{tree_id}#{life}", "NAME#{sort_name}#{person_id}")
    by_birth = gsi5("TREE#{tree_id}#{life}", "BORN#{sort_birth}#{person_id}")

    user_id: str = field("User ID of the tree's owner.", private=True)
    person_id: str = own_id()
    tree_id: str = field("ID of the tree.", private=True)
    number: int = field("Distinguishes people added at the same time.", default=1, private=True)
    first_name: str | None = field("First name.", default=None)
    middle_name: str | None = field("Middle name.", default=None)
    last_name: str | None = field("Last name.", default=None)
    birth_name: str | None = field("Last name at birth.", default=None)
    preferred_name: str | None = field("Preferred name or nickname.", default=None)
    suffix: str | None = field("Suffix, such as Jr. or III.", default=None)
    gender: Gender = field("Gender. Determines kinship terms.", default=Gender.UNKNOWN)
    birth_date: HistoricDate | None = field("Date of birth.", default=None)
    birth_place: str | None = field("Place of birth.", default=None)
    death_date: HistoricDate | None = field("Date of death.", default=None)
    death_place: str | None = field("Place of death.", default=None)
    is_deceased: bool = field("True if the person is known to have died, even if the date is unknown.", default=False)
    biography: str | None = field("Biography.", default=None, compressed=True, heavy=True)
    photo_url: str | None = field("URL of a photo.", default=None)
    version: int = field("Increments on every change. Pass it as `expectedVersion`.", default=1)
    parent_ids: list[str] = field("IDs of the parents.", default_factory=list, private=True)
    biological_parents: int = field("Number of biological parents.", default=0, private=True)
    file: str | None = field("Fingerprint prefix of the file the person was imported from.", default=None, private=True)
    xref: str | None = field("Cross-reference identifier in that file.", default=None, private=True)
    kept: str | None = field(
        "Further lines of that file about the person, verbatim.",
        default=None,
        compressed=True,
        heavy=True,
        private=True,
    )
    deleted_at: Time | None = field("Time of deletion.", default=None, private=True)
    life: str | None = field(
        "DEAD or LIVING, for the indexes by name and birth. None once deleted.", default=None, private=True
    )
    sort_name: str | None = field("Last and first name, for the index.", default=None, private=True)
    sort_birth: str | None = field("Date of birth, for the index.", default=None, private=True)

    def __post_init__(self) -> None:
        life = LIVING if may_be_living(self) else DEAD
        self.__dict__["life"] = life if self.deleted_at is None else None
        # People without a last name come first, those without a date of birth last.
        self.__dict__["sort_name"] = sort_text(self.last_name, self.first_name)
        self.__dict__["sort_birth"] = sort_key(self.birth_date) if self.birth_date else UNKNOWN_BIRTH


def may_be_living(person: Person) -> bool:
    """Returns True unless a death is recorded or the person was born at least 110 years ago."""
    if is_dead(person):
        return False
    born = latest(person.birth_date) if person.birth_date else None
    if born is None:
        return True
    today = datetime.now(UTC)
    return (born[0] + LIVES_AT_MOST, *born[1:]) > (today.year, today.month, today.day)


def is_dead(person: Person) -> bool:
    """True if a death is recorded. A free-text date does not count: it may even say that the person is alive."""
    died = person.death_date
    return person.is_deceased or (died is not None and (earliest(died) or latest(died)) is not None)


class Parentage(Entity, pk="USER#{user_id}", sk="PERSON#{parent_id}#CHILD#{child_id}", owner=part_of(Tree)):
    """A parent-child relationship."""

    parents_of = gsi1("PERSON#{child_id}", "PARENT#{parent_id}")
    of_tree = gsi2("TREE#{tree_id}", "RELATIONSHIP#PARENT#{parent_id}#{child_id}")

    user_id: str = field("User ID of the tree's owner.", private=True)
    tree_id: str = field("ID of the tree.", private=True)
    parent_id: str = field("ID of the parent.", private=True)
    child_id: str = field("ID of the child.", private=True)
    kind: ParentageKind = field("Kind of relationship.", default=ParentageKind.BIOLOGICAL)
    adoption_date: HistoricDate | None = field("Date of adoption.", default=None)
    notes: str | None = field("Notes.", default=None)


class Marriage(Entity, pk="USER#{user_id}", sk="PERSON#{person1_id}#SPOUSE#{person2_id}", owner=part_of(Tree)):
    """A marriage or partnership. The spouse whose ID sorts first is the first one."""

    by_second_person = gsi1("PERSON#{person2_id}", "SPOUSE#{person1_id}")
    of_tree = gsi2("TREE#{tree_id}", "RELATIONSHIP#SPOUSE#{person1_id}#{person2_id}")

    user_id: str = field("User ID of the tree's owner.", private=True)
    tree_id: str = field("ID of the tree.", private=True)
    person1_id: str = field("ID of the first spouse.", private=True)
    person2_id: str = field("ID of the second spouse.", private=True)
    status: MarriageStatus = field("Status.", default=MarriageStatus.MARRIED)
    marriage_date: HistoricDate | None = field("Date of marriage.", default=None)
    marriage_place: str | None = field("Place of marriage.", default=None)
    divorce_date: HistoricDate | None = field("Date of divorce.", default=None)
    notes: str | None = field("Notes.", default=None)


class GedcomPart(Entity, pk="USER#{user_id}", sk="GEDCOM#{tree_id}#{part_id}", owner=part_of(Tree)):
    """Preserved content of an imported file: its families, sources and header."""

    user_id: str = field("User ID of the tree's owner.")
    tree_id: str = field("ID of the tree.")
    # All parts of a kind and a file are one text, in this order.
    part_id: str = field("Kind, file and position of the part.")
    text: str = field("A chunk of JSON lines.", compressed=True)


WHOLE_TREE = Mixed(Person, Parentage, Marriage)
"""Everything kinship is computed from."""
