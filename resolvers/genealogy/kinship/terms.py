"""English kinship terms."""

from typing import NamedTuple

from datastore.genealogy import Gender, MarriageStatus, ParentageKind

# Generations are counted by ordinals: grandfather, great-grandfather, 2nd great-grandfather, 3rd great-grandfather.
# An uncle is counted as the ancestor who is his brother, and a nephew likewise: uncle, grand-uncle, great-grand-uncle.
# Without a gender, a neutral word is used (parent, sibling, spouse), or both (aunt or uncle).
# A parent's spouse and that spouse's children are step-relatives, and so is everyone a step-parent leads to.
# Parents, children and siblings by marriage are in-laws; all others are described: husband of a first cousin.
# A divorce ends step and in-law relationships: ex-wife of the father.
SELF = "self"
NOT_RELATED = "not related"
BY_MARRIAGE = "related by marriage"
# A longer description says less than the path itself.
MOST_PARTS = 3

STEP, HALF = "step", "half"
MANNERS = {
    ParentageKind.BIOLOGICAL: "",
    ParentageKind.ADOPTIVE: "adoptive",
    ParentageKind.STEP: STEP,
    ParentageKind.FOSTER: "foster",
}
PARENT = {Gender.MALE: "father", Gender.FEMALE: "mother"}
CHILD = {Gender.MALE: "son", Gender.FEMALE: "daughter"}
SIBLING = {Gender.MALE: "brother", Gender.FEMALE: "sister"}
SPOUSE = {Gender.MALE: "husband", Gender.FEMALE: "wife"}
SURVIVOR = {Gender.MALE: "widower", Gender.FEMALE: "widow"}
UNCLE = {Gender.MALE: "uncle", Gender.FEMALE: "aunt"}
NEPHEW = {Gender.MALE: "nephew", Gender.FEMALE: "niece"}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
TIMES = ("once", "twice", "three times", "four times", "five times", "six times", "seven times", "eight times")

# Path shapes with a term of their own: up, down, to a sibling, by marriage.
STEPS = {"UMD", "UM", "MD"}
IN_LAWS = {"MU", "DM", "MS", "SM"}
LONGEST_WORD = 3


class Stretch(NamedTuple):
    """A part of the path: up to an ancestor and down from there, or one marriage."""

    gender: Gender
    up: int = 0
    down: int = 0
    kind: ParentageKind = ParentageKind.BIOLOGICAL
    half: bool = False
    status: MarriageStatus | None = None
    dead: bool = False
    survived: bool = False

    @property
    def shape(self) -> str:
        if self.status:
            return "M"
        if not self.up or not self.down:
            return "U" if self.up else "D"
        return "S" if self.up == self.down == 1 else "K"


def relationship_name(stretches: list[Stretch]) -> str:
    """Combines the longest known terms with "of"."""
    parts: list[str] = []
    while stretches:
        lengths = range(min(LONGEST_WORD, len(stretches)), 0, -1)
        length, word = next((length, word) for length in lengths if (word := _word(stretches[:length])))
        is_last = length == len(stretches)
        parts.append(word if is_last else f"{_article(stretches[:length], word)} {word}")
        stretches = stretches[length:]
    if not parts:
        return SELF
    return " of ".join(reversed(parts)) if len(parts) <= MOST_PARTS else BY_MARRIAGE


def kin_name(up: int, down: int, gender: Gender, manner: str = "") -> str:
    """Returns the term for a number of generations up, then down. The manner is step, half, adoptive or foster."""
    return " or ".join(_in_manner(manner, word) for word in _kin_words(up, down, gender))


def ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _word(stretches: list[Stretch]) -> str | None:
    shape = "".join(stretch.shape for stretch in stretches)
    last = stretches[-1]
    if len(stretches) == 1:
        return _spouse(last) if last.status else kin_name(last.up, last.down, last.gender, _manner(last))
    up, down = sum(stretch.up for stretch in stretches), sum(stretch.down for stretch in stretches)
    if any(stretch.status is MarriageStatus.DIVORCED for stretch in stretches):
        return None
    if shape in STEPS:
        return kin_name(up, down, last.gender, STEP)
    if shape in IN_LAWS and all(MANNERS[stretch.kind] in ("", "adoptive") for stretch in stretches):
        return f"{kin_name(up, down, last.gender)}-in-law"
    return None


def _spouse(marriage: Stretch) -> str:
    """Marks a marriage as ended by death if exactly one spouse is known to have died."""
    if marriage.status is MarriageStatus.PARTNERS:
        return "partner"
    word = SPOUSE.get(marriage.gender, "spouse")
    if marriage.status is MarriageStatus.DIVORCED:
        return f"ex-{word}"
    if marriage.status is MarriageStatus.WIDOWED and marriage.dead and marriage.survived:
        return f"late {word}"
    if marriage.status is MarriageStatus.WIDOWED and not marriage.dead and not marriage.survived:
        return SURVIVOR.get(marriage.gender, "surviving spouse")
    return word


def _article(stretches: list[Stretch], word: str) -> str:
    """Returns the article: “the” for a father, a mother or a spouse, otherwise “a” or “an”."""
    if word in PARENT.values() or (len(stretches) == 1 and stretches[0].status):
        return "the"
    return "an" if word[0] in "aeiou" else "a"


def _manner(kin: Stretch) -> str:
    return MANNERS[kin.kind] or (HALF if kin.half else "")


def _in_manner(manner: str, word: str) -> str:
    dash = "-" if manner in (STEP, HALF) and " " not in word else " "
    return f"{manner}{dash}{word}" if manner else word


def _kin_words(up: int, down: int, gender: Gender) -> list[str]:
    if not down:
        return [_grand(up) + PARENT.get(gender, "parent")]
    if not up:
        return [_grand(down) + CHILD.get(gender, "child")]
    if up == down == 1:
        return [SIBLING.get(gender, "sibling")]
    if down == 1:
        return [_grand(up - 1, "-") + word for word in _either(UNCLE, gender)]
    if up == 1:
        return [_grand(down - 1, "-") + word for word in _either(NEPHEW, gender)]
    return [_cousin(min(up, down) - 1, abs(up - down))]


def _either(words: dict[Gender, str], gender: Gender) -> list[str]:
    return [words[gender]] if gender in words else [words[Gender.FEMALE], words[Gender.MALE]]


def _grand(generations: int, dash: str = "") -> str:
    if generations < 2:
        return ""
    greats = "" if generations == 2 else "great-" if generations == 3 else f"{ordinal(generations - 2)} great-"
    return f"{greats}grand{dash}"


def _cousin(degree: int, removal: int) -> str:
    name = f"{ORDINALS[degree - 1] if degree <= len(ORDINALS) else ordinal(degree)} cousin"
    times = TIMES[removal - 1] if removal <= len(TIMES) else f"{removal} times"
    return f"{name} {times} removed" if removal else name
