"""People of a tree by name, birth and ID. Neither orders nor filters reveal anything about hidden people."""

from typing import Annotated

from typing_extensions import Doc

from datastore.genealogy import DEAD, LIVING, Person, Tree, may_be_living
from datastore.model.enums import Choice
from datastore.model.keys import LAST_CHARACTER, Range
from datastore.model.sorting import sortable
from loaders.filtered import ONE_INDEX_AT_A_TIME, Condition, Filtered, filtered
from loaders.merge import Merge
from loaders.needs import Step
from loaders.searched import Searched
from loaders.viewer import Viewer
from resolvers.core.problems import ProblemCode, refused
from resolvers.genealogy.standing import Standing, standing
from resolvers.search.finding import SearchText, Wanted, found_by
from resolvers.search.index import SearchIndex

# Sorts after every year, and before the keys of people without one.
AFTER_ALL_YEARS = ":"


class PersonOrder(Choice):
    """Order of people in a tree. By name or birth, people whose details the viewer may not see are left out."""

    ID = "ID", "By ID."
    NAME = "NAME", "By last name, then by first name. People without a last name come first."
    BIRTH_YEAR = "BIRTH_YEAR", "By date of birth, oldest first. People without a date of birth come last."


def persons(
    tree: Tree,
    viewer: Viewer,
    search_index: SearchIndex,
    *,
    last_name_starts_with: Annotated[
        str | None,
        Doc("Returns only people whose last name begins with this text. Ignores case and accents."),
        ONE_INDEX_AT_A_TIME,
    ] = None,
    born_from: Annotated[
        int | None,
        Doc("Returns only people born in this year or later. An approximate date counts as its year."),
        ONE_INDEX_AT_A_TIME,
    ] = None,
    born_to: Annotated[
        int | None, Doc("Returns only people born in this year or earlier."), ONE_INDEX_AT_A_TIME
    ] = None,
    search: SearchText = None,
    order_by: Annotated[
        PersonOrder | None,
        Doc("Order of the people. Defaults to the order that serves the filter, and to ID without one."),
    ] = None,
) -> Step[Range[Person] | Merge[Person] | Searched[Person] | Filtered[Person]]:
    """People in the tree."""
    of_years = _years(born_from, born_to)
    if search is not None:
        if last_name_starts_with is not None or order_by is not None:
            message = "`search` has an order of its own; leave `lastNameStartsWith` and `orderBy` out"
            raise refused(ProblemCode.INVALID, message, at="search")
        first, last = of_years or ("", LAST_CHARACTER)
        wanted = Wanted(search, frozenset({"Person"}), at="search", within=tree.tree_id)
        keeps: Condition[Person] = lambda person: (first or "") <= (person.sort_birth or "") <= last  # noqa: E731
        return found_by(search_index, viewer, wanted, keeps)
    order = _order(order_by, by_name=last_name_starts_with is not None, by_birth=of_years is not None)
    if order is PersonOrder.ID:
        return Person.of_tree(tree_id=tree.tree_id)
    own = yield from standing(tree, viewer)
    # Reading hidden people and dropping them would show in the number of reads, and in pages that are short.
    lives = (DEAD,) if own <= Standing.STRANGER else (DEAD, LIVING)
    conditions: list[Condition[Person]] = []
    if order is PersonOrder.NAME:
        by_name = [Person.by_name(tree_id=tree.tree_id, life=life) for life in lives]
        ranges = [within.starting_with(sortable(last_name_starts_with)) for within in by_name]
        if of_years is not None:
            low, high = of_years[0] or "", of_years[1]
            conditions.append(lambda person: low <= (person.sort_birth or LAST_CHARACTER) <= high)
    else:
        ranges = [Person.by_birth(tree_id=tree.tree_id, life=life) for life in lives]
        if of_years is not None:
            ranges = [within.between(*of_years) for within in ranges]
    if own <= Standing.STRANGER:
        # The index lags behind the table, and a redacted record has no name that it could be listed by.
        conditions.append(lambda person: not may_be_living(person))
    people = Merge(tuple(ranges), tree.tree_id)
    return filtered(people, *conditions) if conditions else people


def _order(order: PersonOrder | None, *, by_name: bool, by_birth: bool) -> PersonOrder:
    if by_name:
        needed = PersonOrder.NAME
    elif by_birth:
        needed = PersonOrder.BIRTH_YEAR
    else:
        return order or PersonOrder.ID
    if order not in (None, needed):
        raise refused(
            ProblemCode.INVALID, f"this filter needs the order {needed.name}; leave `orderBy` out", at="order_by"
        )
    return needed


def _years(born_from: int | None, born_to: int | None) -> tuple[str | None, str] | None:
    """Returns the first and the last key of these years."""
    if born_from is None and born_to is None:
        return None
    for name, year in (("born_from", born_from), ("born_to", born_to)):
        if year is not None and not 1 <= year <= 9_999:
            raise refused(ProblemCode.INVALID, f"this is {year}; a year goes from 1 to 9999", at=name)
    low = None if born_from is None else f"{born_from:04d}"
    return low, AFTER_ALL_YEARS if born_to is None else f"{born_to:04d}~"
