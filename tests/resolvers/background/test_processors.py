"""Declarations of processors, and the tutorial."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from datastore.accounts import Unique
from datastore.changes.change import Change
from datastore.model.entity import REGISTRY, Entity, field
from datastore.model.ownership import part_of
from datastore.model.patterns import gsi1
from datastore.social import Like, Post
from loaders.request import Loaders
from resolvers.background.processors import PROCESSORS, processor

GUIDE = Path(__file__).parents[3] / "docs/adding-a-processor.md"


@pytest.fixture(autouse=True)
def restored():
    processors, entities = dict(PROCESSORS), dict(REGISTRY)
    yield
    for registry, before in ((PROCESSORS, processors), (REGISTRY, entities)):
        registry.clear()
        registry.update(before)


async def test_the_tutorial_works(graph, society):
    names: dict[str, Any] = {
        "Change": Change,
        "Entity": Entity,
        "Loaders": Loaders,
        "Post": Post,
        "Sequence": Sequence,
        "field": field,
        "gsi1": gsi1,
        "part_of": part_of,
        "processor": processor,
        "re": re,
        "__name__": __name__,
    }
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 3
    await names["test_a_post_is_listed_by_its_hashtags"](graph, society)


def declare(*entities, name="watch"):
    async def watch(load, changes):
        return None

    watch.__name__ = name
    return processor(*entities)(watch)


def test_bookkeeping_cannot_be_listened_to():
    with pytest.raises(TypeError, match=r"^the processor watch: Unique is not in the change log; name entities that"):
        declare(Unique)


def test_a_processor_listens_to_something():
    with pytest.raises(TypeError, match=r"^the processor watch: it listens to nothing; name entities that are logged"):
        declare()


def test_two_processors_cannot_have_one_name():
    declare(Like)
    with pytest.raises(TypeError, match=r"^there are two processors watch; rename one"):
        declare(Post)
