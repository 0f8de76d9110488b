"""Compiles an operation to its plan. graphql-core collects the fields, so a query means the same to both."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLAbstractType,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    NamedTypeNode,
    Node,
    OperationDefinitionNode,
    OperationType,
    VariableNode,
    Visitor,
    is_abstract_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    visit,
)
from graphql.execution.collect_fields import (
    CollectedFields,
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)
from graphql.execution.values import VariableValues, get_argument_values
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_snake_case

from datastore.model.projections import WHOLE, Wanted
from schema.declare.commands import Command
from schema.declare.edges import EDGE, Derived, Edge
from schema.declare.names_read import names_of_rules
from schema.execution.introspection import meta_fields, split
from schema.execution.leaf_writer import WriterSource, leaf_type
from schema.execution.plans import MutationField, MutationPlan, Plan, QueryPlan, TypeName
from schema.execution.positions import Broken, Leaf, ListOf, Position, Required
from schema.execution.selections import Abstract, Arguments, Field, Selection

DECLARED = "strawberry-definition"

# The most fields of a plan, with fragments expanded. The rest is left to graphql-core: with more, a plan takes more
# memory than it is worth.
MAX_FIELDS = 2_000


class Uncovered(Exception):
    """A plan cannot do this."""


class Compiler:
    """Compiles one operation. `variables` are those that decide its @skip and @include."""

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: VariableValues,
    ) -> None:
        self.fields = 0
        self.left_out = 0
        """Fields that are left to graphql-core."""
        self._names: set[str] = set()
        self._reads_anything = False
        self._schema = schema
        self._document = document
        self._operation = operation
        self._variables = variables
        self._fragments = {
            node.name.value: FragmentDetails(node)
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }

    def plan(self) -> Plan:
        root = self._schema.get_root_type(self._operation.operation)
        if root is None:
            raise Uncovered(self._operation.operation)
        collected = collect_fields(self._schema, self._fragments, self._variables, root, self._operation)
        fields = collected.grouped_field_set
        if self._operation.operation is OperationType.MUTATION:
            self._counted(collected)
            return MutationPlan([self._mutation(root, key, details) for key, details in fields.items()])
        meta, _ = split(fields)
        for key in meta:
            fields[key] = []
        selection = self._object(root, collected)
        return QueryPlan(selection, meta_fields(meta, self._document, self._operation), self._wanted())

    def _wanted(self) -> Wanted:
        """Returns what the fields of the operation read. Fields that graphql-core resolves may read anything."""
        return WHOLE if self._reads_anything else Wanted(names_of_rules() | self._names)

    def root_fields(self) -> GroupedFieldSet:
        """Returns the fields of the operation, as graphql-core collects them."""
        root = self._schema.get_root_type(self._operation.operation)
        assert root is not None
        return collect_fields(self._schema, self._fragments, self._variables, root, self._operation).grouped_field_set

    def _object(self, of_type: GraphQLObjectType, collected: CollectedFields) -> Position:
        return self._selection(of_type, self._counted(collected))

    def _counted(self, collected: CollectedFields) -> GroupedFieldSet:
        self.fields += len(collected.grouped_field_set)
        if self.fields > MAX_FIELDS:
            raise Uncovered("too many fields")
        return collected.grouped_field_set

    def _mutation(self, root: GraphQLObjectType, key: str, details: FieldDetailsList) -> MutationField | TypeName:
        nodes = [detail.node for detail in details]
        if nodes[0].name.value == "__typename":
            return TypeName(key, root.name, nodes)
        definition, declared, edge = self._definition(root, details)
        if not isinstance(edge, Command):
            raise Uncovered(definition)
        arguments = self._arguments(definition, declared, details)
        return MutationField(key, edge, arguments, self._position(definition.type, details), nodes)

    def _definition(
        self, of_type: GraphQLObjectType, details: FieldDetailsList
    ) -> tuple[GraphQLField, StrawberryField, Edge | None]:
        definition = of_type.fields.get(details[0].node.name.value)
        declared = definition.extensions.get(DECLARED) if definition else None
        if definition is None or not isinstance(declared, StrawberryField):
            raise Uncovered(details[0].node.name.value)
        edge = declared.metadata.get(EDGE)
        if edge is None and not declared.is_basic_field:
            raise Uncovered(definition)
        return definition, declared, edge

    def _selection(self, of_type: GraphQLObjectType, fields: GroupedFieldSet) -> Selection:
        writer = WriterSource()
        blank: dict[str, Any] = {}
        leaves: list[Field] = []
        functions: list[Field] = []
        nested: list[Field] = []
        left_out: list[Exception] = []
        for key, details in fields.items():
            blank[key] = of_type.name if details and details[0].node.name.value == "__typename" else None
            if not details or blank[key]:
                writer.constant(key, blank[key])
                continue
            try:
                definition, declared, edge = self._definition(of_type, details)
                made = Field(
                    key,
                    declared.python_name,
                    edge.of(of_type.name) if isinstance(edge, Derived) else edge,
                    self._arguments(definition, declared, details),
                    self._field_position(definition.type, details),
                    [detail.node for detail in details],
                )
            except Uncovered as reason:
                # The plan still reads for all other fields.
                left_out.append(reason)
                self.left_out += 1
                self._reads_anything = True
                continue
            self._names.add(declared.python_name)
            if edge is not None:
                self._names |= edge.names_read
                # A function that goes through the fields of an entity reads all of them.
                self._reads_anything |= "fields" in edge.names_read
            if isinstance(made.position, Leaf) and edge is None:
                writer.attribute(key, declared.python_name, definition.type)
                leaves.append(made)
            elif isinstance(made.position, Leaf) and isinstance(made.edge, Derived):
                if made.edge.code:
                    writer.expression(key, *made.edge.code)
                else:
                    writer.function(key, definition.type)
                    functions.append(made)
                leaves.append(made)
            else:
                writer.constant(key, None)
                nested.append(made)
        return Selection(of_type.name, blank, writer.compile(), leaves, functions, nested, of_type.is_type_of, left_out)

    def _field_position(self, of_type: GraphQLOutputType, details: FieldDetailsList) -> Position:
        return self._position(of_type, details)

    def _position(self, of_type: GraphQLOutputType, details: FieldDetailsList) -> Position:
        if leaf_type(of_type):
            return Leaf(of_type)
        if is_non_null_type(of_type):
            return Required(self._position(of_type.of_type, details))
        if is_list_type(of_type):
            return ListOf(self._position(of_type.of_type, details))
        if is_object_type(of_type):
            return self._subselection(of_type, details)
        if not is_abstract_type(of_type):
            raise Uncovered(of_type)

        @cache
        def selection_for(name: str) -> Position:
            concrete = self._schema.get_type(name)
            if not is_object_type(concrete) or not self._schema.is_sub_type(of_type, concrete):
                raise GraphQLError(f"{name} is not a possible type for {of_type}")
            return self._subselection(concrete, details)

        self._expect(of_type, selection_for)
        return Abstract(selection_for)

    def _expect(self, of_type: GraphQLAbstractType, selection_for: Callable[[str], Position]) -> None:
        """Compiles what is selected on concrete types, so that it is known what is read of their records."""
        fields, conditions = self._mentioned
        self._names |= fields
        try:
            for concrete in self._schema.get_possible_types(of_type):
                if concrete.name in conditions:
                    selection_for(concrete.name)
        except Uncovered:
            self._reads_anything = True

    @cached_property
    def _mentioned(self) -> tuple[set[str], set[str]]:
        """Returns the fields that the document selects, by their Python names, and the types of its fragments."""
        fields, conditions = set(), set()

        class Mentioned(Visitor):
            def enter_field(self, node: FieldNode, *_: Any) -> None:
                fields.add(to_snake_case(node.name.value))

            def enter_named_type(self, node: NamedTypeNode, *_: Any) -> None:
                conditions.add(node.name.value)

        visit(self._document, Mentioned())
        return fields, conditions

    def _subselection(self, of_type: GraphQLObjectType, details: FieldDetailsList) -> Position:
        if self.fields > MAX_FIELDS:
            raise Uncovered("too many fields")
        try:
            fields = collect_subfields(
                self._schema, self._fragments, self._variables, self._operation, of_type, details
            )
        except GraphQLError as error:
            return Broken(error)
        return self._object(of_type, fields)

    def _arguments(self, definition: GraphQLField, declared: StrawberryField, details: FieldDetailsList) -> Arguments:
        node, _, fragment_variables = details[0]
        if fragment_variables is not None:
            raise Uncovered("fragment variables")
        schema = self._schema.extensions[DECLARED]

        def arguments(variables: VariableValues) -> Mapping[str, Any]:
            coerced = get_argument_values(definition, node, variables)
            return convert_arguments(
                coerced,
                declared.arguments,
                scalar_registry=schema.schema_converter.scalar_registry,
                config=schema.config,
            )

        if not declared.arguments:
            return lambda _: {}
        if variables_in(node.arguments or ()):
            return arguments
        try:
            constant = arguments(self._variables)
        except Exception:
            # It is an error of the field, whenever that is resolved.
            return arguments
        return lambda _: constant


def variables_in(nodes: Iterable[Node]) -> set[str]:
    """Returns the names of the variables in parts of a document."""
    names = set()

    class Names(Visitor):
        def enter_variable(self, node: VariableNode, *_: Any) -> None:
            names.add(node.name.value)

    for node in nodes:
        visit(node, Names())
    return names
