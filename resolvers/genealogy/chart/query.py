"""A chart of a tree: the ancestors or descendants of a person that the viewer may see."""

from collections.abc import Sequence
from functools import partial

from datastore.genealogy import Person, Tree
from datastore.model.dates import HistoricDate
from loaders.needs import Step, computed
from loaders.pages import first_of
from loaders.threads import KINSHIP
from loaders.viewer import Viewer
from loaders.visibility import seen
from resolvers.genealogy.chart.layout import Line
from resolvers.genealogy.chart.svg import Label, tree_picture
from resolvers.genealogy.edges import tree_by_database_id
from resolvers.genealogy.kinship.family import Family
from resolvers.genealogy.relatives import whole_tree


def picture(
    viewer: Viewer, tree_id: str, person_id: str | None, line: Line, generations: int | None
) -> Step[str | None]:
    """Returns the chart of the person; without one, of the root person or the first person.

    None if the viewer cannot see the tree or the person is not in it.
    """
    found: list[Tree | None] = yield from first_of([tree_by_database_id(database_id=tree_id)], viewer)
    tree = found[0]
    if tree is None:
        return None
    kin = yield from whole_tree(tree, viewer)
    chosen = person_id or tree.root_person_id
    if person_id is None and chosen not in kin.people:
        chosen = next(iter(kin.people), None)
    if chosen is None or chosen not in kin.people:
        return None
    people: list[Person | None] = yield from seen([*kin.people.values()], viewer)
    draw = partial(_drawn, kin.family, people, chosen, line, generations)
    return (yield from computed(KINSHIP, len(people), draw))


def _drawn(family: Family, people: Sequence[Person | None], person_id: str, line: Line, generations: int | None) -> str:
    labels = {person.person_id: _label(person) for person in people if person is not None}
    return tree_picture(family, labels, person_id, line, generations=generations)


def _label(person: Person) -> Label:
    names = (person.first_name, person.middle_name, person.last_name, person.suffix)
    return Label(" ".join(filter(None, names)) or "?", _life(person))


def _life(person: Person) -> str:
    born, died = _said(person.birth_date), _said(person.death_date)
    if not born and not died:
        return ""
    return f"{born or '?'} – {died or '?'}" if died or person.is_deceased else f"born {born}"


def _said(date: HistoricDate | None) -> str:
    return str(date) if date else ""
