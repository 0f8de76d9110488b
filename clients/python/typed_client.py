"""The client that ariadne-codegen generates, over the live server."""

from datetime import datetime

from checks import HEADERS, UNIQUE, URL, run, there
from heartwood_client import (
    AddPersonInput,
    AnyNodeNodeUser,
    Ballot,
    Client,
    CreateContentInput,
    CreateNeighborhoodInput,
    CreatePostInput,
    CreateTreeInput,
    Gender,
    LikePostInput,
    LogInInput,
    NeighborhoodPrivacy,
    ProblemCode,
    UserBy,
    VoteInput,
)

client = Client(URL, HEADERS)


def accounts() -> None:
    """ariadne-codegen: accounts"""
    viewer = there(client.viewer().viewer)
    found = there(client.one_user(UserBy(username=viewer.username)).user)
    assert (found.id, type(found.created_at)) == (viewer.id, datetime)
    refused = there(client.log_in(LogInInput(login="maya", password="not the password")).log_in)
    assert refused.token is None
    assert [problem.code for problem in refused.problems] != []
    assert isinstance(client.any_node(viewer.id).node, AnyNodeNodeUser)


def neighborhoods() -> None:
    """ariadne-codegen: neighborhoods"""
    made = CreateNeighborhoodInput(name=f"Elm Street {UNIQUE}", privacy=NeighborhoodPrivacy.PUBLIC)
    slug = there(there(client.create_neighborhood(made).create_neighborhood).neighborhood).slug
    members = there(there(client.neighborhood_members(slug, first=5).neighborhood).members)
    assert len(members.nodes) == 1


def cms() -> None:
    """ariadne-codegen: cms"""
    made = CreateContentInput(title=f"Opening hours {UNIQUE}", blocks=[{"type": "text", "text": "Saturdays."}])
    assert there(there(client.create_content(made).create_content).content).version == 1
    assert there(client.catalog(first=5).products).nodes
    assert there(client.page("/knives").route).content


def social() -> None:
    """ariadne-codegen: social"""
    made = CreatePostInput(image_url="https://example.org/1.jpg", caption=f"Typed {UNIQUE}")
    post = there(there(client.create_post(made).create_post).post)
    assert there(there(client.like_post(LikePostInput(post_id=post.id)).like_post).post).like_count == 1
    invalid = there(client.create_post(CreatePostInput(image_url="ftp://example.org/1.jpg")).create_post)
    assert [problem.code for problem in invalid.problems] == [ProblemCode.INVALID]
    assert len(there(client.feed(first=4).feed).edges) == 4


def cards() -> None:
    """ariadne-codegen: cards"""
    card = there(client.top_cards(first=1).top_cards).nodes[0]
    voted = there(client.cast_vote(VoteInput(target_id=card.id, ballot=Ballot.DOWN)).vote)
    assert there(there(voted.card).viewer_vote).direction.value == "DOWN"


def genealogy() -> None:
    """ariadne-codegen: genealogy"""
    tree = there(there(client.create_tree(CreateTreeInput(name="The Holms")).create_tree).tree)
    born = AddPersonInput(tree_id=tree.id, first_name="Karl", gender=Gender.MALE, birth_date="1899-06-21")
    assert there(there(client.add_person(born).add_person).person).birth_date == "1899-06-21"
    assert len(there(there(client.family(tree.id, first=5).tree).persons).edges) == 1


run(accounts, neighborhoods, cms, social, cards, genealogy)
