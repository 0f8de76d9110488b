"""The cost of an operation: records, leaves and everything else it could return. Computed before it is validated.

Costs are counted in tenths: a record costs 1, a leaf a tenth. Every field is priced once, regardless of how many
fragments spread it, so the time is proportional to the length of the document.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, NamedTuple

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    OperationDefinitionNode,
    SchemaMetaFieldDef,
    SelectionNode,
    SelectionSetNode,
    StringValueNode,
    TypeMetaFieldDef,
    TypeNameMetaFieldDef,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_list_type,
)

from schema.execution.incremental.directives import NAMES
from schema.execution.kinds import INTROSPECTION, Kinds
from schema.execution.limits import Limits, OverLimit
from schema.execution.weights import FILTERED, FILTERS, LISTED, WEIGHTS

RECORD = 10
LEAF = 1
# A deferred fragment or a streamed list, each time that it occurs.
PART = RECORD
DEFERRED = "@defer"
# A response key pays for a leaf for each so many characters: it is in the response once per record.
CHARACTERS_OF_A_LEAF = 50
DEFAULT_SIZE = 20
META_FIELDS = {"__schema": SchemaMetaFieldDef, "__type": TypeMetaFieldDef, "__typename": TypeNameMetaFieldDef}


class Price(NamedTuple):
    """Tenths that a field or a selection costs: for each parent, and for each item of a parent that is a page.

    In introspection, for each type, and for each field of the type.
    """

    parent: int = 0
    item: int = 0
    height: int = 0
    """Levels of fields below."""


class Place(NamedTuple):
    """A field, or a deferred fragment, and the type it is selected on."""

    field: Any
    of_type: Any

    @property
    def name(self) -> str:
        name: str = self.field.name.value if isinstance(self.field, FieldNode) else DEFERRED
        return name

    @property
    def key(self) -> str:
        alias: str | None = self.field.alias.value if isinstance(self.field, FieldNode) and self.field.alias else None
        return alias or self.name


class Cost:
    """The cost of one operation with these variables."""

    def __init__(
        self,
        schema: GraphQLSchema,
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: Mapping[str, Any],
    ) -> None:
        self._schema = schema
        self._operation = operation
        self._fragments = fragments
        defaults = {
            definition.variable.name.value: _literal(definition.default_value)
            for definition in operation.variable_definitions or ()
            if definition.default_value is not None
        }
        self._variables = {**defaults, **variables}
        self._kinds = Kinds.of(schema)
        self._reached: dict[str, dict[int, Place]] = {}
        self._prices: dict[int, Price] = {}
        self._root = schema.get_root_type(operation.operation)
        self._total = self._selection(operation.selection_set, self._root)

    @property
    def total(self) -> int:
        return _whole(self._total.parent)

    @property
    def introspects(self) -> bool:
        return any(place.name in INTROSPECTION for place in self._places(self._operation.selection_set, self._root))

    def check(self, limits: Limits) -> None:
        """Raises OverLimit if the operation is too deep or costs too much."""
        if self._total.height > limits.depth:
            raise OverLimit(f"the query is over {limits.depth} levels deep; ask in several queries")
        if self.total > limits.cost:
            path, cost = self._costliest(limits.cost)
            if cost > limits.cost:
                raise OverLimit(
                    f"{path} costs {cost:,} of at most {limits.cost:,}; ask for smaller pages or fewer fields"
                )
            raise OverLimit(
                f"the query costs {self.total:,} of at most {limits.cost:,}, {path} alone {cost:,}; "
                "ask for fewer fields, or in several queries"
            )

    def _costliest(self, limit: int) -> tuple[str, int]:
        """Returns the deepest path that costs over the limit; without one, the costliest field of the operation."""
        path: list[str] = []
        found = ("", 0)
        selection_set: SelectionSetNode | None = self._operation.selection_set
        of_type: Any = self._root
        times, size = 1, 0
        while selection_set is not None:
            costs = [(self._cost_of(place, times, size), place) for place in self._places(selection_set, of_type)]
            cost, place = max(costs, key=lambda each: each[0], default=(0, None))
            if place is None or (found[1] and _whole(cost) <= limit):
                break
            path.append(place.key[:60])
            if not self._kinds.is_free(place.of_type, place.name):
                found = ".".join(path), _whole(cost)
            definition = _definition(place)
            if definition is None:
                break
            selection_set, of_type = place.field.selection_set, get_named_type(definition.type)
            if self._kinds.is_part(place.of_type, definition):
                times, size = times * size, 0
            elif of_type in self._kinds.connections:
                size = self._size(place, definition)
            else:
                times, size = times * self._size(place, definition), 0
        return found

    def _cost_of(self, place: Place, times: int, size: int) -> int:
        price = self._price(place)
        return times * (price.parent + size * price.item)

    def _selection(self, selection_set: SelectionSetNode, of_type: Any) -> Price:
        prices = [self._price(place) for place in self._places(selection_set, of_type)]
        return Price(
            sum(price.parent for price in prices),
            sum(price.item for price in prices),
            1 + max((price.height for price in prices), default=0),
        )

    def _places(self, selection_set: SelectionSetNode, of_type: Any) -> Iterator[Place]:
        """Yields fields as execution collects them: a fragment counts once per selection."""
        places: dict[int, Place] = {}
        self._collect(selection_set, of_type, places)
        return iter(places.values())

    def _collect(self, selection_set: SelectionSetNode, of_type: Any, places: dict[int, Place]) -> None:
        for node in selection_set.selections:
            if isinstance(node, FieldNode):
                places[id(node)] = Place(node, of_type)
                continue
            if node.directives and _is_later(node):
                places[id(node)] = Place(node, of_type)
            if isinstance(node, FragmentSpreadNode):
                places.update(self._places_of(node.name.value))
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                inner = self._schema.get_type(condition.name.value) if condition else of_type
                self._collect(node.selection_set, inner, places)

    def _places_of(self, fragment: str) -> dict[int, Place]:
        if fragment not in self._reached:
            places: dict[int, Place] = {}
            definition = self._fragments.get(fragment)
            if definition is not None:
                of_type = self._schema.get_type(definition.type_condition.name.value)
                self._collect(definition.selection_set, of_type, places)
            self._reached[fragment] = places
        return self._reached[fragment]

    def _price(self, place: Place) -> Price:
        price = self._prices.get(id(place.field))
        if price is None:
            price = self._priced(place) if isinstance(place.field, FieldNode) else Price(PART)
            if place.field.directives and isinstance(place.field, FieldNode) and _is_later(place.field):
                price = price._replace(parent=price.parent + PART)
            self._prices[id(place.field)] = price
        return price

    def _priced(self, place: Place) -> Price:
        definition = _definition(place)
        # Validation reports what is not in the schema.
        if definition is None:
            return Price()
        weight = WEIGHTS.get((place.of_type.name, place.name), 0)
        if self._is_filtered(place):
            weight = max(weight, FILTERED)
        of_type = get_named_type(definition.type)
        key = LEAF + len(place.key) // CHARACTERS_OF_A_LEAF
        if place.field.selection_set is None or not is_composite_type(of_type):
            listed = is_list_type(get_nullable_type(definition.type))
            return Price(RECORD * weight + (LISTED * key if listed else key))
        inner = self._selection(place.field.selection_set, of_type)
        key -= LEAF
        if place.name in INTROSPECTION or place.of_type.name.startswith("__"):
            if place.name == "fields":
                return Price(0, LEAF + key + inner.parent)
            found = self._kinds.introspected(place.of_type, place.name, self._arguments(place))
            return Price(ceil(found.objects * (LEAF + key + inner.parent + found.fields * inner.item)))
        if self._kinds.is_part(place.of_type, definition):
            return Price(0, RECORD + key + inner.parent, inner.height)
        if self._kinds.is_free(place.of_type, place.name):
            return Price(LEAF + key + inner.parent, 0, inner.height)
        size = self._size(place, definition)
        records = RECORD * max(size, weight) + key
        if of_type in self._kinds.connections:
            # The page pays for its records, and so for one of its parts, `nodes` or `edges`.
            return Price(records + inner.parent + size * max(0, inner.item - RECORD), 0, inner.height)
        return Price(records + size * (key + inner.parent), 0, inner.height)

    def _size(self, place: Place, definition: GraphQLField) -> int:
        """Returns the number of records the field may return per parent."""
        arguments = self._arguments(place)
        if "first" in definition.args:
            given = [arguments[name] for name in ("first", "last") if name in arguments]
            # Variable coercion refuses anything else.
            sizes = [int(size) for size in given if isinstance(size, int | float) and 1 <= size < 2**31]
            unsaid = definition.args["first"].default_value
            return max(sizes, default=unsaid if isinstance(unsaid, int) else DEFAULT_SIZE)
        if "ids" in arguments:
            return len(arguments["ids"]) if isinstance(arguments["ids"], list | tuple) else 1
        if is_list_type(get_nullable_type(definition.type)):
            return WEIGHTS.get((place.of_type.name, place.name)) or LISTED
        return 1

    def _is_filtered(self, place: Place) -> bool:
        """True if an argument filters without an index. Null is no filter."""
        filters = FILTERS.get((place.of_type.name, place.name))
        if not filters:
            return False
        given = [
            filters[argument.name.value]
            for argument in place.field.arguments or ()
            if argument.name.value in filters and self._is_given(argument.value)
        ]
        return False in given or len(given) > 1

    def _is_given(self, value: ValueNode) -> bool:
        if isinstance(value, VariableNode):
            return self._variables.get(value.name.value) is not None
        return not isinstance(value, NullValueNode)

    def _arguments(self, place: Place) -> dict[str, Any]:
        """Returns the arguments of a field, as far as they matter here."""
        return {
            argument.name.value: self._variables.get(argument.value.name.value)
            if isinstance(argument.value, VariableNode)
            else _literal(argument.value)
            for argument in place.field.arguments or ()
        }


def _is_later(node: SelectionNode) -> bool:
    """True for a deferred fragment or a streamed list: its place is in the results for each record."""
    return any(directive.name.value in NAMES for directive in node.directives or ())


def _definition(place: Place) -> GraphQLField | None:
    if place.of_type is not None and place.name in META_FIELDS:
        return META_FIELDS[place.name]
    return getattr(place.of_type, "fields", {}).get(place.name)


def _literal(node: ValueNode) -> Any:
    if isinstance(node, IntValueNode):
        # Longer numbers are not page sizes, and Python refuses to parse very long ones.
        return int(node.value) if len(node.value) < 12 else None
    if isinstance(node, StringValueNode):
        return node.value
    return node.values if isinstance(node, ListValueNode) else None


def _whole(tenths: int) -> int:
    return -(-tenths // RECORD)
