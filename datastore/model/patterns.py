"""Named access patterns: the ranges an entity can be read by, declared in its class body.

    class Post(Entity, pk="POST#{post_id}", sk="METADATA"):
        by_author = gsi1("USER#{user_id}", "POST#{created_at}")

`Post.by_author(user_id=…)` is then the `Range[Post]` of one author's posts.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from datastore.model.generated_code import define
from datastore.model.keys import MAX_PARTITION_BYTES, MAX_SORT_BYTES, Range, Template, new_tuple, unsafe
from datastore.model.suggestions import suggestion

if TYPE_CHECKING:
    from datastore.model.entity import Entity

E = TypeVar("E", bound="Entity")

INDEXES = ("GSI1", "GSI2", "GSI3", "GSI4", "GSI5")


class Index:
    """The table itself (name None) or one of its indexes, with the entity's key templates."""

    def __init__(self, name: str | None, pk: str, sk: str) -> None:
        self.name = name
        self.pk = Template(pk, MAX_PARTITION_BYTES)
        self.sk = Template(sk, MAX_SORT_BYTES)
        self.holes = tuple(dict.fromkeys((*self.pk.holes, *self.sk.holes)))
        self.attributes = (f"{name}PK", f"{name}SK") if name else ("PK", "SK")


class Pattern:
    """A method of an entity that returns a range. All holes of `pk` and any first holes of `sk` take values."""

    name = "within"

    def __init__(self, index_name: str | None, pk: str, sk: str) -> None:
        self.index = Index(index_name, pk, sk)
        self._make = self._range_maker()

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, record: object, owner: type[E]) -> Callable[..., Range[E]]:
        return MethodType(self._make, owner)

    def _range_maker(self) -> Callable[..., Range[Any]]:
        """Generates a function that returns the range for the values of the holes."""
        name, pk, sk, holes = self.index.name, self.index.pk, self.index.sk, self.index.holes
        parameters = ", ".join(["entity", *(["*"] if holes else []), *(f"{hole}=None" for hole in holes), "**unknown"])
        values = "{" + ", ".join(f"{hole!r}: {hole}" for hole in holes) + "}"
        usual = ["not unknown", pk.plain, *(f"{hole} is None" for hole in sk.holes)]
        # Only the first holes of a sort key may have values.
        gaps = [f"{one} is None and {other} is not None" for one, other in pairwise(sk.holes)]
        wrong = ["unknown", *(f"{hole} is None" for hole in pk.holes), *gaps]
        source = (
            f"def range({parameters}):\n"
            f"    if {' and '.join(usual)}:\n"
            f"        return new(Range, (entity, {name!r}, f{pk.text!r}, {sk.prefix({})!r}, None, None, False))\n"
            f"    values = {values}\n"
            f"    if {' or '.join(wrong)}:\n"
            f"        raise TypeError(mistake(entity, values, unknown))\n"
            f"    return new(Range, (entity, {name!r}, fill(values), prefix(values), None, None, False))\n"
        )
        names: dict[str, Any] = {"new": new_tuple, "Range": Range, "unsafe": unsafe}
        names |= {"fill": pk.fill, "prefix": sk.prefix, "mistake": self._mistake}
        made: Callable[..., Range[Any]] = define("range", source, names, purpose=f"range {self.name}")
        return made

    def _mistake(self, entity: "type[Entity]", values: Mapping[str, Any], unknown: Mapping[str, Any]) -> str:
        name, holes = f"{entity.__name__}.{self.name}", self.index.holes
        for hole in unknown:
            return f"{name} takes no {hole}: {suggestion(hole, holes)}"
        last = max((place for place, hole in enumerate(holes) if values[hole] is not None), default=-1)
        needed = holes[: max(last + 1, len(self.index.pk.holes))]
        missing = ", ".join(hole for hole in needed if values[hole] is None)
        return f"{name} needs {missing}: call {name}({', '.join(f'{hole}=…' for hole in needed)})"


gsi1, gsi2, gsi3, gsi4, gsi5 = (partial(Pattern, name) for name in INDEXES)
