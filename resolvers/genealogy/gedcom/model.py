"""The model: people and families of a file, each with its unmapped lines preserved."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from resolvers.genealogy.gedcom.shared_records import biography_of


class Gender(StrEnum):
    MALE = "MALE"
    FEMALE = "FEMALE"
    OTHER = "OTHER"
    UNKNOWN = "UNKNOWN"


class Pedigree(StrEnum):
    BIOLOGICAL = "BIOLOGICAL"
    ADOPTIVE = "ADOPTIVE"
    STEP = "STEP"
    FOSTER = "FOSTER"


class Status(StrEnum):
    """Marriage status. UNKNOWN is a couple without a recorded marriage."""

    MARRIED = "MARRIED"
    DIVORCED = "DIVORCED"
    SEPARATED = "SEPARATED"
    WIDOWED = "WIDOWED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class GedPerson:
    """A person. `kept` holds all lines that the fields do not cover, as text for `kept_records`."""

    xref: str
    first_name: str = ""
    middle_name: str = ""
    last_name: str = ""
    birth_name: str = ""
    preferred_name: str = ""
    suffix: str = ""
    gender: Gender = Gender.UNKNOWN
    birth_date: str = ""
    birth_place: str = ""
    death_date: str = ""
    death_place: str = ""
    is_deceased: bool = False
    notes: tuple[str, ...] = ()
    photo_url: str = ""
    kept: str = ""
    line: int = field(default=0, compare=False)

    @property
    def biography(self) -> str:
        """Returns the notes as one text. They are stored separately, because people share notes."""
        return biography_of(self.notes)


@dataclass(frozen=True, slots=True)
class GedChild:
    """A child of a family, with its relationship to either partner and the notes on it."""

    xref: str
    husband_pedigree: Pedigree = Pedigree.BIOLOGICAL
    wife_pedigree: Pedigree = Pedigree.BIOLOGICAL
    husband_adoption_date: str = ""
    wife_adoption_date: str = ""
    husband_notes: str = ""
    wife_notes: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class GedFamily:
    """A couple, or a single parent, with children. Husband and wife are positions anyone can take."""

    xref: str
    husband: str = ""
    wife: str = ""
    children: tuple[GedChild, ...] = ()
    marriage_date: str = ""
    marriage_place: str = ""
    divorce_date: str = ""
    status: Status = Status.UNKNOWN
    notes: str = ""
    kept: str = ""
    line: int = field(default=0, compare=False)

    @property
    def partners(self) -> tuple[str, ...]:
        return tuple(xref for xref in (self.husband, self.wife) if xref)


@dataclass(frozen=True, slots=True)
class GedOther:
    """A record that is neither a person nor a family, such as a source, repository or shared note."""

    xref: str
    tag: str
    kept: str


@dataclass(frozen=True, slots=True)
class GedTree:
    """The contents of a file."""

    persons: tuple[GedPerson, ...] = ()
    families: tuple[GedFamily, ...] = ()
    others: tuple[GedOther, ...] = ()
    header: str = ""

    def kept(self) -> Iterator[str]:
        """Yields all preserved texts."""
        yield self.header
        for parts in (self.persons, self.families, self.others):
            yield from (part.kept for part in parts)
