"""Generates random valid operations for a schema; their arguments may be invalid."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLSchema,
    do_types_overlap,
    get_named_type,
    is_composite_type,
    is_object_type,
    is_required_argument,
    is_required_input_field,
)
from graphql.type import SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef, specified_scalar_types
from hypothesis import strategies as st

from tests.support.literals import literal, nullable

Strategy = st.SearchStrategy[Any]
Draw = Callable[[Strategy], Any]
_Input = GraphQLArgument | GraphQLInputField

# Includes names of fields, because an alias may equal the name of another field.
ALIASES = ("a", "b", "c", "id", "node", "nodes", "author", "username", "posts", "totalCount")
LENGTHS = (2, 1, 3, 5, 0)
PAGE = 4  # approximate number of records in a list
MOST_RECORDS = 100
INTROSPECTION_DEPTH = 3  # MaxIntrospectionDepthRule may reject deeper ones
NOTHING: Any = object()

USUAL: dict[str, Strategy] = {
    "@include.if": st.sampled_from([True, True, False]),
    "@skip.if": st.sampled_from([False, False, True]),
    "Int": st.integers(-(2**31), 2**31 - 1),
    "Float": st.floats(allow_nan=False, allow_infinity=False),
    "Boolean": st.booleans(),
    "String": st.text(max_size=5),
    "ID": st.text(max_size=5),
}
WRONG: Strategy = st.sampled_from([None, "what is this?", 2**40, 1.5, True, [], {"no": "such field"}])


@dataclass(frozen=True)
class Operation:
    """An operation. `others` are variables for further runs, which must not depend on earlier ones."""

    text: str
    variables: dict[str, Any]
    operation_name: str | None
    others: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Values:
    """Argument values, by coordinate (`Query.user.id`), by name (`first`) or by type (`DateTime`).

    `chances`, looked up the same way, are the probabilities of optional arguments in percent. `apart` lists arguments
    that rarely make sense together.
    """

    given: Mapping[str, Strategy] = field(default_factory=dict)
    chances: Mapping[str, int] = field(default_factory=dict)
    apart: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, owner: str, name: str, of_type: GraphQLNamedType) -> Strategy:
        known = {**USUAL, **self.given}
        for place in (f"{owner}.{name}", name, of_type.name):
            if place in known:
                return known[place]
        return st.sampled_from(sorted(of_type.values))  # an enum, because every scalar has a strategy

    def chance(self, owner: str, name: str, beside: Collection[str]) -> int:
        if self.apart.get(name, frozenset()).intersection(beside):
            return 2
        return self.chances.get(f"{owner}.{name}", self.chances.get(name, 30))


@dataclass
class _Variable:
    name: str
    of_type: str
    default: str | None
    values: list[Any]

    @property
    def definition(self) -> str:
        return f"${self.name}: {self.of_type}" + (f" = {self.default}" if self.default else "")


@dataclass
class _Definition:
    """An operation or a fragment: the variables and fragments it uses, its depth and its size."""

    of_type: Any
    name: str = ""
    body: str = ""
    uses: set[str] = field(default_factory=set)
    height: int = 0
    growth: int = 1


@dataclass(frozen=True)
class _Place:
    """Position of a selection."""

    parent: Any
    depth: int
    times: int = 1
    plain: bool = False  # no fragments here


@dataclass(frozen=True)
class _Chosen:
    """The field behind a response key in one type."""

    parent: Any
    name: str
    arguments: str
    of_type: Any

    def agrees_with(self, other: "_Chosen") -> bool:
        """Returns True if the two fields can share a response key."""
        exclusive = self.parent is not other.parent and is_object_type(self.parent) and is_object_type(other.parent)
        same = (self.name, self.arguments) == (other.name, other.arguments)
        return (same or exclusive) and _shape(self.of_type) == _shape(other.of_type)


class _Inputs:
    """Generates arguments and the variables they use."""

    def __init__(self, draw: Draw, values: Values) -> None:
        self.draw = draw
        self.values = values
        self.runs = 2 if self.roll(30) else 1
        self.variables: list[_Variable] = []

    def roll(self, chance: int) -> bool:
        """Returns True with this probability in percent. Examples shrink to False."""
        return bool(self.draw(st.integers(0, 99)) >= 100 - chance)

    def pick(self, among: Any) -> Any:
        return self.draw(st.sampled_from(among))

    def named_values(self, owner: str, places: Mapping[str, _Input]) -> str:
        given = self.given(owner, places)
        return ", ".join(f"{name}: {self.value(owner, name, places[name].type)}" for name in given)

    def given(self, owner: str, places: Mapping[str, _Input]) -> list[str]:
        """Selects the required arguments or input fields and some of the optional ones."""
        given: list[str] = []
        for name, made in places.items():
            if _is_required(made) or self.roll(self.values.chance(owner, name, given)):
                given.append(name)
        return given

    def input_fields(self, of_type: GraphQLInputObjectType) -> dict[str, Any]:
        """Selects fields of an input object, with their types: of a @oneOf, mostly one, which cannot be null."""
        if of_type.is_one_of and not self.roll(3):
            only = self.pick([*of_type.fields])
            return {only: GraphQLNonNull(of_type.fields[only].type)}
        return {name: of_type.fields[name].type for name in self.given(of_type.name, of_type.fields)}

    def value(self, owner: str, name: str, of_type: Any) -> str:
        """Returns a value as text, with literals and variables."""
        if self.roll(25):
            return self.variable(owner, name, of_type)
        if isinstance(of_type, GraphQLNonNull):
            of_type = of_type.of_type
        elif self.roll(5):
            return "null"
        if isinstance(of_type, GraphQLList):
            elements = [self.value(owner, name, of_type.of_type) for _ in range(self.pick(LENGTHS))]
            # A single value is coerced to a list.
            return elements[0] if len(elements) == 1 and elements[0][0] == '"' else f"[{', '.join(elements)}]"
        if isinstance(of_type, GraphQLInputObjectType):
            given = self.input_fields(of_type)
            return "{" + ", ".join(f"{key}: {self.value(of_type.name, key, kind)}" for key, kind in given.items()) + "}"
        return literal(self.draw(self.values.of(owner, name, of_type)), of_type)

    def plain_value(self, owner: str, name: str, of_type: Any) -> Any:
        """Returns a value as JSON, for a variable."""
        if isinstance(of_type, GraphQLNonNull):
            of_type = of_type.of_type
        elif self.roll(10):
            return None
        if isinstance(of_type, GraphQLList):
            return [self.plain_value(owner, name, of_type.of_type) for _ in range(self.pick(LENGTHS))]
        if isinstance(of_type, GraphQLInputObjectType):
            given = self.input_fields(of_type)
            return {key: self.plain_value(of_type.name, key, kind) for key, kind in given.items()}
        return self.draw(self.values.of(owner, name, of_type))

    def variable(self, owner: str, name: str, of_type: Any) -> str:
        fitting = [variable for variable in self.variables if variable.of_type == str(of_type)]
        if fitting and self.roll(30):
            variable = self.pick(fitting)
        else:
            variable = self.new_variable(owner, name, of_type)
            self.variables.append(variable)
        return f"${variable.name}"

    def new_variable(self, owner: str, name: str, of_type: Any) -> _Variable:
        default, declared = None, of_type
        if self.roll(40):
            default = literal(self.plain_value(owner, name, GraphQLNonNull(nullable(of_type))), of_type)
            # With a default, the variable may be nullable even where null is rejected, which is an error at run time.
            declared = nullable(of_type) if self.roll(50) else of_type
        optional = default is not None or not isinstance(declared, GraphQLNonNull)
        values = [self.variable_value(owner, name, declared, optional=optional) for _ in range(self.runs)]
        return _Variable(f"v{len(self.variables)}", str(declared), default, values)

    def variable_value(self, owner: str, name: str, of_type: Any, *, optional: bool) -> Any:
        if optional and self.roll(35):
            return NOTHING
        return self.draw(WRONG) if self.roll(2) else self.plain_value(owner, name, of_type)


class _Document(_Inputs):
    """Generates operations and the fragments they share."""

    def __init__(self, draw: Draw, schema: GraphQLSchema, values: Values) -> None:
        super().__init__(draw, values)
        self.schema = schema
        self.budget = 0
        self.fragments: list[_Definition] = []
        self.open: list[tuple[_Definition, _Place]] = []
        self.keys: dict[str, dict[_Chosen, None]] = {}

    def definition(self, place: _Place) -> _Definition:
        made = _Definition(place.parent)
        self.open.append((made, place))
        made.body = self.selections(place)
        self.open.pop()
        return made

    def reach(self, depth: int, times: int) -> None:
        made, start = self.open[-1]
        made.height = max(made.height, start.depth - depth)
        made.growth = max(made.growth, times // start.times)

    def using(self, text: str) -> str:
        """Adds text to the current definition, with the variables and fragments it uses."""
        self.open[-1][0].uses.update(re.findall(r"\$v\d+|\.\.\.F\d+", text))
        return text

    def selections(self, place: _Place) -> str:
        self.reach(place.depth, place.times)
        count = self.draw(st.integers(1, 4)) if self.budget > 0 else 1
        # Splits the budget, or the first one would use all of it.
        share, lines = self.budget // count, []
        for _ in range(count):
            self.budget = share
            lines.append(self.selection(place))
        return "{\n" + "\n".join(f"  {line}" for text in lines for line in text.split("\n")) + "\n}"

    def selection(self, place: _Place) -> str:
        self.budget -= 1
        kind = self.draw(st.integers(0, 99))
        if kind < 75 or self.budget <= 0:
            return self.some_field(place)
        if kind < 80 or place.plain:
            return self.chosen(place, "__typename", TypeNameMetaFieldDef, "") + self.directives()
        return self.inline_fragment(place) if kind < 90 else self.spread(place)

    def some_field(self, place: _Place) -> str:
        if place.parent is self.schema.query_type and not place.plain and self.roll(3):
            name, definition = self.pick([("__schema", SchemaMetaFieldDef), ("__type", TypeMetaFieldDef)])
            return self.field(_Place(place.parent, INTROSPECTION_DEPTH, plain=True), name, definition)
        fields = getattr(place.parent, "fields", {})
        if not fields:  # a union
            return "__typename"
        inner = [name for name, made in fields.items() if self.may_descend(place, made) for _ in range(_records(made))]
        leaves = [name for name, made in fields.items() if not is_composite_type(get_named_type(made.type))]
        if not inner and not leaves:
            return self.chosen(place, "__typename", TypeNameMetaFieldDef, "") + self.directives()
        name = self.pick(inner if inner and (not leaves or self.roll(65)) else leaves)
        return self.field(place, name, fields[name])

    def may_descend(self, place: _Place, made: GraphQLField) -> bool:
        room = self.budget > 0 and place.depth > 0 and place.times * _records(made) <= MOST_RECORDS
        return room and is_composite_type(get_named_type(made.type))

    def field(self, place: _Place, name: str, made: GraphQLField) -> str:
        before = [chosen for every in self.keys.values() for chosen in every]
        known = [chosen for chosen in before if chosen.parent is place.parent and chosen.name == name]
        # Either with the same arguments, so that the two merge, or under a new key.
        again = known and self.roll(40)
        arguments = self.pick(known).arguments if again else self.arguments(place.parent, name, made)
        text = self.chosen(place, name, made, arguments) + self.directives()
        of_type = get_named_type(made.type)
        if not is_composite_type(of_type):
            return text
        below = _Place(of_type, place.depth - 1, place.times * _records(made), place.plain)
        return f"{text} {self.selections(below)}"

    def chosen(self, place: _Place, name: str, made: GraphQLField, arguments: str) -> str:
        """Returns the field under a response key that is not used for any other field in the document."""
        chosen = _Chosen(place.parent, name, arguments, made.type)
        fresh = f"{name}{len(self.keys)}"
        fitting = [key for key in (name, *ALIASES) if all(map(chosen.agrees_with, self.keys.get(key, ())))] + [fresh]
        key = fitting[0] if fitting[0] == name and not self.roll(20) else self.pick(fitting)
        self.keys.setdefault(key, {})[chosen] = None
        return (name if key == name else f"{key}: {name}") + self.using(arguments)

    def arguments(self, owner: Any, name: str, made: GraphQLField) -> str:
        text = self.named_values(f"{owner.name}.{name}", made.args)
        return f"({text})" if text else ""

    def directives(self) -> str:
        if not self.roll(8):
            return ""
        names = self.pick([("include",), ("skip",), ("include", "skip"), ("skip", "include")])
        condition = GraphQLNonNull(specified_scalar_types["Boolean"])
        return self.using("".join(f" @{name}(if: {self.value(f'@{name}', 'if', condition)})" for name in names))

    def inline_fragment(self, place: _Place) -> str:
        condition = self.pick(_conditions(self.schema, place.parent))
        head = f"... on {condition.name}" if condition is not place.parent or self.roll(50) else "..."
        # Fragments on another type add to the size, not to the depth.
        return f"{head}{self.directives()} {self.selections(_Place(condition, place.depth, place.times))}"

    def spread(self, place: _Place) -> str:
        conditions = _conditions(self.schema, place.parent)
        fitting = [
            made
            for made in self.fragments
            if made.of_type in conditions and made.height <= place.depth and made.growth * place.times <= MOST_RECORDS
        ]
        if fitting and self.roll(50):
            made = self.pick(fitting)
        else:
            made = self.definition(_Place(self.pick(conditions), place.depth, place.times))
            made.name = f"F{len(self.fragments)}"
            self.fragments.append(made)
        self.reach(place.depth - made.height, place.times * made.growth)
        return self.using(f"...{made.name}") + self.directives()

    def used_by(self, made: _Definition) -> set[str]:
        inner = [fragment for fragment in self.fragments if f"...{fragment.name}" in made.uses]
        return made.uses.union(*map(self.used_by, inner))

    def operation(self, kind: str, name: str, depth: int) -> str:
        root = self.schema.mutation_type if kind == "mutation" else self.schema.query_type
        self.budget = self.draw(st.integers(5, 150))
        made = self.definition(_Place(root, depth))
        used = self.used_by(made)
        variables = ", ".join(variable.definition for variable in self.variables if f"${variable.name}" in used)
        head = f"{kind} {name}" + (f"({variables})" if variables else "")
        return f"{head.strip()} {made.body}" if head != "query " else made.body


@st.composite
def operations(draw: Draw, schema: GraphQLSchema, values: Values, kind: str = "query") -> Operation:
    """Generates a valid document, its variables, and the name of the operation to run."""
    document = _Document(draw, schema, values)
    names = draw(st.sampled_from([("",), ("A",), ("A", "B")]))
    texts = [document.operation(kind if name != "B" else "query", name, draw(st.integers(2, 10))) for name in names]
    fragments = [f"fragment {made.name} on {made.of_type.name} {made.body}" for made in document.fragments]
    variables, *others = (
        {made.name: made.values[run] for made in document.variables if made.values[run] is not NOTHING}
        for run in range(document.runs)
    )
    named = len(names) > 1 or (names[0] and document.roll(50))
    return Operation("\n\n".join([*texts, *fragments]), variables, "A" if named else None, tuple(others))


def _records(made: GraphQLField) -> int:
    return PAGE if "first" in made.args or "ids" in made.args else 1


def _is_required(made: _Input) -> bool:
    return is_required_argument(made) if isinstance(made, GraphQLArgument) else is_required_input_field(made)


@cache
def _conditions(schema: GraphQLSchema, parent: Any) -> list[Any]:
    """Returns the possible object types of this type."""
    kinds = filter(is_composite_type, schema.type_map.values())
    return [kind for kind in kinds if do_types_overlap(schema, kind, parent)]


def _shape(of_type: Any) -> str:
    named = get_named_type(of_type)
    return str(of_type).replace(named.name, "{}") if is_composite_type(named) else str(of_type)
