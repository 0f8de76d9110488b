"""Properties of the shortest path between two people, in arbitrary families."""

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore.genealogy import Gender, MarriageStatus, ParentageKind
from resolvers.genealogy.kinship.family import Family, Marriage, Member, Parentage
from resolvers.genealogy.kinship.paths import KinshipLink, Step
from resolvers.genealogy.kinship.relationship import relationship
from resolvers.genealogy.kinship.terms import NOT_RELATED

# Test machines may be busy.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
IDS = st.sampled_from("abcdefghi")
FAMILIES = st.builds(
    Family,
    st.just([Member(name, gender) for name, gender in zip("abcdefghi", [*Gender] * 3, strict=False)]),
    st.lists(st.builds(Parentage, IDS, IDS, st.sampled_from(ParentageKind)), max_size=14),
    st.lists(st.builds(Marriage, IDS, IDS, st.sampled_from(MarriageStatus)), max_size=4),
)
TURNED = {
    KinshipLink.PARENT: KinshipLink.CHILD,
    KinshipLink.CHILD: KinshipLink.PARENT,
    KinshipLink.SPOUSE: KinshipLink.SPOUSE,
}


@unhurried
@given(FAMILIES, IDS, IDS)
def test_a_relationship_is_symmetric(family, one, other):
    there, back = relationship(family, one, other), relationship(family, other, one)

    assert [step.person_id for step in there.path] == [step.person_id for step in reversed(back.path)]
    assert [step.link for step in there.path[1:]] == [TURNED[step.link] for step in reversed(back.path[1:])]
    assert there.degree == back.degree._replace(
        generations_up=back.degree.generations_down, generations_down=back.degree.generations_up
    )


@unhurried
@given(FAMILIES, IDS, IDS)
def test_every_step_of_the_way_is_a_link_of_the_family(family, one, other):
    path = relationship(family, one, other).path

    for before, step in pairwise(path):
        links = {
            KinshipLink.PARENT: family.parents,
            KinshipLink.CHILD: family.children,
            KinshipLink.SPOUSE: family.spouses,
        }
        assert links[step.link](before.person_id)[step.person_id] is step.nature


@unhurried
@given(FAMILIES, IDS, IDS)
def test_connected_people_are_related(family, one, other):
    connected = {person.person_id for person in family.around(one, 100).people}
    for _ in "abcdefghi":
        connected |= {person.person_id for near in connected for person in family.around(near, 100).people}

    assert (relationship(family, one, other).name != NOT_RELATED) == (other in connected)


def lengths_from(family: Family, one: str) -> dict[str, int]:
    """Returns the length of the shortest path to each person, by relaxing every link until nothing changes."""
    lengths = {(one, False): 0}
    for _ in range(4 * len(family.people)):
        for (near, goes_down), length in list(lengths.items()):
            further = [((each, False), length + (3 if goes_down else 1)) for each in family.parents(near)]
            further += [((each, True), length + 1) for each in family.children(near)]
            further += [((each, False), length + 2) for each in family.spouses(near)]
            for state, longer in further:
                lengths[state] = min(longer, lengths.get(state, longer))
    return {each: min(lengths[key] for key in lengths if key[0] == each) for each, _ in lengths}


def length_of(path: list[Step]) -> int:
    turns = sum((one.link, two.link) == (KinshipLink.CHILD, KinshipLink.PARENT) for one, two in pairwise(path))
    return len(path) - 1 + 2 * turns + sum(step.link is KinshipLink.SPOUSE for step in path)


@unhurried
@given(FAMILIES, IDS)
def test_no_way_is_shorter(family, one):
    ways = {other: relationship(family, one, other).path for other in "abcdefghi"}

    assert {other: length_of(path) for other, path in ways.items() if path} == lengths_from(family, one)


@unhurried
@given(FAMILIES, IDS, IDS)
def test_no_common_ancestor_is_nearer_than_the_relationship(family, one, other):
    degree = relationship(family, one, other).degree

    for ancestor in family.common_ancestors(one, other):
        way = ancestor.generations + ancestor.other_generations
        assert degree.generations_up + degree.generations_down + 2 * degree.marriages <= way


@unhurried
@given(FAMILIES, IDS, IDS)
def test_descendants_are_the_inverse_of_ancestors(family, one, other):
    up = [generation for person_id, generation in family.ancestors(one) if person_id == other]
    down = [generation for person_id, generation in family.descendants(other) if person_id == one]

    assert up == down
    assert (other in family.siblings(one)) == (one in family.siblings(other))
    assert (other in family.half_siblings(one)) == (one in family.half_siblings(other))
