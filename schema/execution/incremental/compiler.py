"""Compiles an operation with deferred fragments and streamed lists. graphql-core decides which fields come when."""

from collections.abc import Callable
from functools import partial

from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLOutputType,
    get_directive_values,
    is_list_type,
    is_non_null_type,
)
from graphql.execution.collect_fields import CollectedFields, FieldDetails, FieldDetailsList
from graphql.execution.incremental.build_execution_plan import DeferUsageSet, build_execution_plan
from graphql.execution.values import VariableValues
from graphql.pyutils import RefSet

from schema.execution.compiler import Compiler, Uncovered
from schema.execution.incremental.directives import STREAM
from schema.execution.incremental.positions import Divided, Part, Streamed
from schema.execution.plans import Plan, QueryPlan
from schema.execution.positions import Broken, Position, Required
from schema.execution.selections import Abstract


class IncrementalCompiler(Compiler):
    """`_within` are the deferred fragments whose fields are being compiled."""

    _within: DeferUsageSet = RefSet()

    def plan(self) -> Plan:
        """Raises Uncovered if a field is left to graphql-core, which answers all at once."""
        plan = super().plan()
        if self.left_out or (isinstance(plan, QueryPlan) and plan.introspection):
            raise Uncovered("not all fields are in the plan")
        return plan

    def _object(self, of_type: GraphQLObjectType, collected: CollectedFields) -> Position:
        now, later = build_execution_plan(self._counted(collected), self._within)
        selection = self._selection(of_type, now)
        if not collected.new_defer_usages and not later:
            return selection
        parts = [
            Part(self._compiled_within(usages, partial(self._selection, of_type, fields)), tuple(usages))
            for usages, fields in later.items()
        ]
        return Divided(selection, collected.new_defer_usages, parts)

    def _position(self, of_type: GraphQLOutputType, details: FieldDetailsList) -> Position:
        made = super()._position(of_type, details)
        if not isinstance(made, Abstract):
            return made
        # Selections on further types are compiled when a record of the type occurs.
        within, selection_for = self._within, made.selection_for
        return Abstract(lambda name: self._compiled_within(within, partial(selection_for, name)))

    def _field_position(self, of_type: GraphQLOutputType, details: FieldDetailsList) -> Position:
        if is_non_null_type(of_type):
            return Required(self._field_position(of_type.of_type, details))
        node = details[0].node
        try:
            stream = get_directive_values(STREAM, node, self._variables) if is_list_type(of_type) else None
        except GraphQLError as error:
            return Broken(error)
        if not is_list_type(of_type) or stream is None or not stream["if"]:
            return self._position(of_type, details)
        inner = rest = self._position(of_type.of_type, details)
        if self._within or any(detail.defer_usage for detail in details):
            # What comes later is not deferred once more by the fragments around it.
            plain = [FieldDetails(detail.node, None, detail.fragment_variable_values) for detail in details]
            rest = self._compiled_within(RefSet(), partial(self._position, of_type.of_type, plain))
        return Streamed(inner, rest, stream.get("label"), _initial_count(node), [detail.node for detail in details])

    def _compiled_within(self, usages: DeferUsageSet, compile_it: Callable[[], Position]) -> Position:
        before, self._within = self._within, usages
        try:
            return compile_it()
        finally:
            self._within = before


def _initial_count(node: FieldNode) -> Callable[[VariableValues], int]:
    """Returns the function of the argument, which is no condition of the plan."""

    def initial_count(variables: VariableValues) -> int:
        values = get_directive_values(STREAM, node, variables)
        assert values is not None
        count: int = values["initialCount"]
        return count

    return initial_count
