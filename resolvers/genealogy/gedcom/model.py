"""People and families as a file tells of them, with the rest of what it says of each kept beside it."""

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
    """UNKNOWN is a couple of whom it is not said that they married."""

    MARRIED = "MARRIED"
    DIVORCED = "DIVORCED"
    SEPARATED = "SEPARATED"
    WIDOWED = "WIDOWED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class GedPerson:
    """A person. What is kept is text for `kept_records`: all that the fields do not say."""

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
        """Notes are apart because people share them: a thousand who share a long one hold it once."""
        return biography_of(self.notes)


@dataclass(frozen=True, slots=True)
class GedChild:
    """A child of a family, what it is to either partner, and what else is said of that."""

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
    """A couple, or one partner, with children. Husband and wife are names of places that anybody can have."""

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
    """A record that is neither a person nor a family: a source, a repository, a shared note."""

    xref: str
    tag: str
    kept: str


@dataclass(frozen=True, slots=True)
class GedTree:
    """All of a file."""

    persons: tuple[GedPerson, ...] = ()
    families: tuple[GedFamily, ...] = ()
    others: tuple[GedOther, ...] = ()
    header: str = ""

    def kept(self) -> Iterator[str]:
        """All texts that were kept."""
        yield self.header
        for parts in (self.persons, self.families, self.others):
            yield from (part.kept for part in parts)
