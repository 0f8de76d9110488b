"""An unknown field name stops the start, anywhere in a resolver module."""

import textwrap

import pytest

import resolvers
from schema.declare.field_names import check_field_names

HEAD = """
from typing import Annotated, Any

from datastore.accounts import User
from datastore.client.writes import Check, Delete, Put, Update, absent, below, equals, exists
from datastore.model.keys import Key
from datastore.social import Comment, Post
from resolvers.core.rate_limit import count_attempt


"""
LINE = HEAD.count("\n") + 3


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts with an additional resolver module of one function; returns the error."""

    def run(source: str) -> str:
        package = tmp_path / "resolvers"
        package.mkdir()
        (package / "typo.py").write_text(HEAD + textwrap.dedent(source))
        monkeypatch.setattr(resolvers, "__path__", [*resolvers.__path__, str(package)])
        with pytest.raises(TypeError) as stopped:
            check_field_names(resolvers.__path__)
        return str(stopped.value)

    return run


@pytest.mark.parametrize(
    "line",
    [
        'return Update(User.key(user_id=user_id), set={"bio": "x", "usrname": "ada"})',
        'return Update(User.key(user_id=user_id), {"usrname": "ada"})',
        'return Update(User.key(user_id=user_id), add={"usrname": 1} if post else {})',
        'return Update(User.key(user_id=user_id), remove=["usrname"])',
        'return Update(user.own_key, remove=("usrname",))',
        'return Update(key, set={**changes, "usrname": "ada"})',
        'return Update.upsert(user, add={"usrname": 1})',
        'return Update.of(user, changed, when=exists() & equals("usrname", 1))',
        'return Put(User(user_id=user_id, username="a", email="b"), when=absent("usrname") | exists())',
        'return Delete(key, when=(absent if post else exists)("usrname"))',
        'return Check(user.own_key, when=below("usrname", 1))',
        'return user.changed(bio="x", usrname="ada")',
        'return user.changed(**{"usrname": "ada"})',
        'return user.changed(bio="x").changed(usrname="ada")',
        'return (await _found()).changed(usrname="ada")',
    ],
)
def test_a_misspelled_field_stops_the_start(start, line):
    source = f"""
    async def typo(user: User, key: Annotated[Key[User], "its key"], post: Post | None, user_id: str, changes: Any):
        {line}


    async def _found() -> User | None: ...
    """

    assert start(source) == f"resolvers/typo.py:{LINE}: User has no field usrname: did you mean username?"


def test_variables_are_followed(start):
    source = """
    def typo(user_id: str):
        user = User(user_id=user_id, username="a", email="b")
        changed = user.changed(bio="x")
        return Update.of(user, changed, when=exists("usrname")), changed.changed(usrname="b"), (own := user.own_key)
    """

    assert start(source).splitlines() == [
        f"resolvers/typo.py:{LINE + 2}: User has no field usrname: did you mean username?",
        f"resolvers/typo.py:{LINE + 2}: User has no field usrname: did you mean username?",
    ]


def test_a_field_of_one_of_several_entities_will_do(start):
    source = """
    def typo(work: Post | Comment):
        return work.changed(caption="a", content="b", captoin="c")
    """

    assert start(source) == f"resolvers/typo.py:{LINE}: Comment and Post have no field captoin: did you mean caption?"


def test_where_the_entity_is_not_known_it_is_one_the_module_can_refer_to(start):
    source = """
    def typo(records):
        return [equals("captoin", 1), equals("subject", 1), *(record.changed(username="a") for record in records)]
    """

    assert start(source) == (
        f"resolvers/typo.py:{LINE}: Comment and Post and SignInFailures and User have no field captoin: "
        "did you mean caption? If it is of another entity, annotate it."
    )


def test_names_passed_on_to_an_update_are_checked(start):
    source = """
    async def typo(context, post: Post):
        await write_for_account(context, Put(post), add={"post_cuont": 1})
    """

    assert start(source).startswith(
        f"resolvers/typo.py:{LINE}: Comment and Post and SignInFailures and User have no field post_cuont: "
        "did you mean post_count?"
    )


def test_names_without_a_likely_correction_come_with_those_that_exist(start):
    source = """
    def typo(comment: Comment):
        return comment.changed(zzz=1)
    """

    assert start(source) == (
        f"resolvers/typo.py:{LINE}: Comment has no field zzz: the known names are "
        "comment_id, content, created_at, expires_at, hidden_at, post_id, updated_at, user_id."
    )


def test_all_resolver_modules_spell_their_fields_right():
    check_field_names(resolvers.__path__)
