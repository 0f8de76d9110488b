"""Commands: how their inputs are validated and described, and where their problems are."""

import inspect
from typing import Annotated, Any

import pytest
from typing_extensions import Doc

from datastore.model.keys import Key
from datastore.social import Comment, Post
from resolvers.core.constraints import Each, HttpsUrl, JsonObject, Number, Text
from resolvers.core.context import Context
from resolvers.core.problems import INPUT, Problem, ProblemCode, Refused, not_found, outdated, refused
from resolvers.core.retry import retries_on_conflict
from resolvers.core.unset import UNSET, given
from resolvers.core.validation import Checks
from schema.build import build
from schema.declare.commands import Command
from schema.declare.context import RequestContext
from schema.declare.edges import derived
from schema.declare.ids import global_id
from schema.declare.signatures import Signature

POST = Post(post_id="p1", user_id="u1", image_url="https://example.org/1.jpg")
OTHER = Post(post_id="p2", user_id="u1", image_url="https://example.org/2.jpg")


class Result:
    """A payload type."""

    done: Any

    def __init__(self, problems: list[Problem], done: Any = None) -> None:
        self.problems = problems
        self.done = done


async def edit_post(
    context: Context,
    *,
    post_id: Annotated[Key[Post], Doc("ID of the post.")],
    title: Annotated[str, Doc("Title."), Text(at_most=5)] = UNSET,
    caption: Annotated[str | None, Doc("Caption."), Text(at_most=2_200)] = UNSET,
    image_urls: Annotated[list[str] | None, Doc("Pictures."), Each(HttpsUrl(), at_most=2)] = UNSET,
    from_: Annotated[int | None, Doc("First page."), Number(at_most=9)] = UNSET,
) -> dict[str, Any]:
    """Edits a post."""
    return given(post_id=post_id, title=title, caption=caption, image_urls=image_urls, from_=from_)


class Given:
    """The object that Strawberry creates for an `input`."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


async def run(function: Any, context: RequestContext, **values: Any) -> Result:
    command = Command(function, keeps_key=False)
    command.field("Mutation.test", Result)
    result: Result = await command.carry_out(context, "test", {"input": Given(**values)} if values else {})
    return result


def found(*problems: tuple[str, str]) -> list[Problem]:
    return [Problem(ProblemCode.INVALID, message, ("input", name)) for name, message in problems]


async def test_a_command_gets_normalized_values_and_nothing_that_was_left_out(graph):
    result = await run(edit_post, graph.context(), post_id=global_id(POST), title="  Hi ", caption=" \n")

    assert result.problems == []
    assert result.done == {"post_id": POST.own_key, "title": "Hi", "caption": None}


async def test_every_problem_of_an_input_is_reported_at_once(graph):
    result = await run(
        edit_post,
        graph.context(),
        post_id="nonsense",
        title="too long",
        caption="\x00",
        image_urls=["http://a.example", "https://a.example", "ftp://b.example"],
        from_=10,
    )

    url = "a URL begins with https://, has no user name and at most 2048 bytes"
    assert result.problems == found(
        ("postId", "'nonsense' is not an id; use the field `id` of something this API returned"),
        ("title", "this has 8 characters; at most 5 are allowed"),
        ("caption", "control characters are not allowed"),
        ("imageUrls", url),
        ("imageUrls", url),
        ("imageUrls", "these are 3; at most 2 are allowed"),
        ("from", "this is 10; it goes from 0 to 9"),
    )


@pytest.mark.parametrize(
    ("title", "message"),
    [(None, "this cannot be null; leave it out to keep it as it is"), ("  ", "this needs at least one character")],
)
async def test_an_argument_without_none_in_its_type_may_be_left_out_and_nothing_else(graph, title, message):
    result = await run(edit_post, graph.context(), post_id=global_id(POST), title=title)

    assert result.problems == found(("title", message))


def test_descriptions_end_with_the_limits_and_repeat_none():
    async def create(
        context: Context,
        *,
        caption: Annotated[str | None, Doc("Caption."), Text(at_most=2_200)] = None,
        bio: Annotated[str | None, Doc("Biography. At most 500 characters."), Text(at_most=500)] = None,
        config: Annotated[dict[str, Any] | None, Doc("Settings."), JsonObject(at_most=10_000)] = None,
        tags: Annotated[list[str] | None, Doc("Tags."), Each(Text(at_most=40), at_most=10)] = None,
    ) -> None:
        """Creates something."""

    described = {
        name: argument.annotation.__metadata__[0].description for name, argument in Signature(create).arguments.items()
    }

    assert described == {
        "caption": "Caption. At most 2,200 characters.",
        "bio": "Biography. At most 500 characters.",
        "config": "Settings. A JSON object of at most 10,000 bytes.",
        "tags": "Tags. At most 10 items, each at most 40 characters.",
    }


async def refuse(context: Context, refusal: Refused) -> None:
    """A helper somewhere below the command."""
    raise refusal


@pytest.mark.parametrize(
    ("refusal", "path"),
    [
        (refused(ProblemCode.FORBIDDEN, "no", at="post_id"), ("input", "postId")),
        (refused(ProblemCode.FORBIDDEN, "no", at="from_"), ("input", "from")),
        (refused(ProblemCode.FORBIDDEN, "no", at=INPUT), ("input",)),
        (refused(ProblemCode.FORBIDDEN, "no"), ()),
        (not_found(POST.own_key), ("input", "postId")),
        (not_found(OTHER.own_key), ("input", "otherIds")),
        (not_found(Comment.key(post_id="p1", created_at="2026-01-01T00:00:00.000Z", comment_id="c1")), ()),
        (outdated(7), ("input", "expectedVersion")),
    ],
)
async def test_paths_derive_from_the_parameters(graph, refusal, path):
    async def merge_posts(
        context: Context,
        *,
        post_id: Annotated[Key[Post], Doc("ID of the post.")],
        other_ids: Annotated[list[Key[Post]], Doc("IDs of others.")],
        from_: Annotated[int, Doc("First page.")],
        expected_version: Annotated[int, Doc("Version.")],
    ) -> None:
        """Merges posts."""
        await refuse(context, refusal)

    values = {"post_id": global_id(POST), "other_ids": [global_id(OTHER)], "from_": 1, "expected_version": 6}
    (problem,) = (await run(merge_posts, graph.context(), **values)).problems

    assert problem.path == path


def test_not_found_names_the_entity():
    (problem,) = not_found(POST.own_key).problems

    assert (problem.code, problem.message) == (ProblemCode.NOT_FOUND, "there is no such post")


async def test_a_path_to_no_parameter_is_a_programming_error(graph):
    async def hide_post(context: Context, *, post_id: Annotated[Key[Post], Doc("ID of the post.")]) -> None:
        """Hides a post."""
        raise refused(ProblemCode.FORBIDDEN, "no", at="card_id")

    with pytest.raises(TypeError) as raised:
        await run(hide_post, graph.context(), post_id=global_id(POST))

    assert str(raised.value) == "hide_post refuses at 'card_id', which is none of its parameters: post_id"


async def test_checks_of_several_arguments_are_reported_by_parameter_and_at_once(graph):
    async def plan(
        context: Context,
        *,
        starts_on: Annotated[int, Doc("Day it starts.")],
        ends_on: Annotated[int, Doc("Day it ends.")],
    ) -> None:
        """Plans something."""
        checks = Checks()
        if ends_on < starts_on:
            checks.problem("ends_on", "it ends before it starts")
            checks.problem("starts_on", "it starts after it ends")
        checks.done()

    result = await run(plan, graph.context(), starts_on=2, ends_on=1)

    assert result.problems == found(("endsOn", "it ends before it starts"), ("startsOn", "it starts after it ends"))


async def test_the_context_knows_the_running_command(graph):
    async def create_product(context: Context) -> str:
        """Creates a product."""
        return context.command

    assert (await run(create_product, graph.context())).done == "createProduct"


def test_a_retried_command_keeps_its_signature():
    retried = retries_on_conflict(edit_post)

    assert inspect.signature(retried) == inspect.signature(edit_post)
    assert Signature(retried).names == Signature(edit_post).names
    assert Signature(retried).description == "Edits a post."


def test_only_commands_have_constraints():
    def greeting(post: Post, *, name: Annotated[str, Doc("Name."), Text(at_most=5)]) -> str:
        """A greeting."""
        return name

    with pytest.raises(TypeError) as raised:
        derived(greeting).field("Post.greeting", str)

    assert str(raised.value) == ("Post.greeting has constraints (name), which only commands validate: remove them")


def test_each_mutation_has_a_payload_type_of_its_own():
    mutations = build()._schema.mutation_type.fields

    assert {name: field.type.name for name, field in mutations.items()} == {
        name: f"{name[0].upper()}{name[1:]}Payload" for name in mutations
    }
