"""The fields that functions may read, by their code."""

from functools import partial
from operator import attrgetter
from typing import Any

from datastore.social import Post
from schema.declare.edges import derived, many, one
from schema.declare.names_read import names_in, names_of_rules

# As if it were a function of a resolver.
__name__ = "resolvers.test"


def caption_of(post: Any) -> Any:
    return post.caption


def through_another(post: Any) -> Any:
    return caption_of(post)


def names(thing: Any) -> set[str]:
    return set(names_in([thing])) & Post.fields.keys()


def test_attributes_in_a_function_and_in_what_it_calls():
    assert names(caption_of) == {"caption"}
    assert names(through_another) == {"caption"}
    assert names(lambda posts: [post.image_url for post in posts if post.hidden_at is None]) == {
        "image_url",
        "hidden_at",
    }


def test_names_in_texts_and_closures():
    def reader(name: str) -> Any:
        return lambda post: getattr(post, name)

    assert names(reader("like_count")) == {"like_count"}
    assert names(attrgetter("like_count")) == {"like_count"}
    assert names(partial(caption_of)) == {"caption"}
    assert names(lambda post: getattr(post, "comment_count")) == {"comment_count"}  # noqa: B009


def test_edges_read_what_their_functions_do():
    assert names(derived(caption_of)) >= {"caption"}
    assert "comment_count" not in names(derived(caption_of))
    assert names(one(lambda post: post.image_url, only=lambda post, _: post.hidden_at is None)) >= {
        "image_url",
        "hidden_at",
    }
    assert names(many(caption_of, count="like_count")) >= {"caption", "like_count"}


def test_rules_read_few_fields():
    assert names_of_rules().isdisjoint({"caption", "image_url", "like_count", "comment_count"})
    assert "password_hash" not in names_of_rules()
