"""Loads a category tree and how-to cards into the local table through the commands, and runs some searches.

The folder has a file of categories, one per line (`id : Top > Middle > Leaf`), and a folder `recipes` of Markdown files
with title, tags and author at the top and the sections Ingredients and Directions. The server's own executor runs the
commands, without HTTP.
"""

import argparse
import asyncio
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from slugify import slugify

from datastore.accounts import Unique, User
from datastore.cards import Category
from datastore.client import transport
from datastore.client.budget import Usage
from datastore.jobs import JOB_PARTITIONS, Job
from datastore.local import endpoint
from datastore.local.engine import EngineFailed
from datastore.local.settings import TableSettings
from loaders.request import Loaders
from loaders.viewer import Viewer
from resolvers.background.jobs import Worker
from schema.declare.ids import global_id
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services
from schema.http.settings import Settings

USUAL_PLACES = (Path("data/cards"), Path("../shared/data/cards"))
CATEGORIES, RECIPES = "shopify-categories.txt", "recipes"
SECRET = "of no use to anybody but this script"
ADMIN = Viewer("loader", roles=frozenset({"admin"}))
AT_ONCE = 8
MOST_VOTES = 12
SEARCHES = ("apple pie", "soup potato", "choc", "quick pasta", "noodles")

PROBLEMS = "problems { code message path }"
CREATE_CATEGORY = f"mutation ($input: CreateCategoryInput!) {{ createCategory(input: $input) {{ {PROBLEMS} }} }}"
CREATE_CARD = f"mutation ($input: CreateCardInput!) {{ createCard(input: $input) {{ card {{ id }} {PROBLEMS} }} }}"
VOTE = f"mutation ($input: VoteInput!) {{ vote(input: $input) {{ {PROBLEMS} }} }}"
SEARCH = "query ($text: String!) { searchCards(text: $text, first: 3) { nodes { title voteScore category { path } } } }"


@dataclass(frozen=True)
class Node:
    """A category in the file."""

    category_id: str
    path: tuple[str, ...]

    @property
    def id(self) -> str:
        return global_id(Category(category_id=self.category_id, name=self.path[-1]))


@dataclass(frozen=True)
class Recipe:
    """The contents of a recipe file."""

    title: str
    tags: list[str]
    author: str
    minutes: int | None
    materials: dict[str, list[str]]
    instructions: list[str]

    @property
    def difficulty(self) -> str:
        steps = len(self.instructions)
        return "BEGINNER" if steps < 5 else "INTERMEDIATE" if steps < 10 else "ADVANCED" if steps < 20 else "EXPERT"


def nodes_in(lines: Iterable[str]) -> Iterator[Node]:
    for line in lines:
        name, _, path = line.strip().partition(" : ")
        if path and not line.startswith("#"):
            category_id = slugify(name.strip().rpartition("/")[2], max_length=40)
            yield Node(category_id, tuple(part.strip() for part in path.split(" > ")))


def recipe_in(text: str) -> Recipe | None:
    """Parses a recipe; returns None if it has no instructions or no title."""
    _, head, body = (*text.split("---\n", 2), "", "")[:3]
    facts = {key: value.strip().strip("'\"") for key, value in re.findall(r"^(\w+):(.*)$", head, re.M)}
    sections = dict(re.findall(r"^## *(Ingredients|Directions)\s*$\n(.*?)(?=^## |\Z)", body, re.M | re.S))
    instructions = [step for steps in _parts(sections.get("Directions", "")).values() for step in steps]
    if not instructions or not facts.get("title"):
        return None
    tags = [tag.strip() for tag in re.findall(r"[^\[\],'\"]+", facts.get("tags", "")) if tag.strip()]
    minutes = sum(
        int(number) * (60 if unit == "h" else 1) for number, unit in re.findall(r"time: *~?(\d+) *(min|h)", body)
    )
    return Recipe(
        title=facts["title"][:120],
        tags=[tag[:40] for tag in tags[:10]],
        author=slugify(facts.get("author", ""), separator="_", max_length=30) or "somebody",
        minutes=minutes or None,
        materials=_parts(sections.get("Ingredients", "")),
        instructions=instructions[:200],
    )


def _parts(section: str) -> dict[str, list[str]]:
    """Returns the lines of a section by heading, without list markers."""
    parts: dict[str, list[str]] = defaultdict(list)
    heading = "all"
    for line in section.splitlines():
        if line.startswith("#"):
            heading = line.strip("# ") or heading
        elif text := re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+|!\[.*?\]\(.*?\)", "", line).strip():
            parts[heading].append(text[:5_000])
    return dict(parts)


class Client:
    """Runs operations like an HTTP request."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def ask(self, query: str, viewer: Viewer, **variables: Any) -> Any:
        services = self._services
        context = services.context_of(viewer)
        answer = await services.executor.run(GraphQLRequest(query, variables), context, may_mutate=True)
        if "errors" in answer.body:
            raise SystemExit(f"{answer.body['errors']} for {variables}")
        ((_, payload),) = answer.body["data"].items()
        return payload

    async def command(self, query: str, viewer: Viewer, **given: Any) -> Any:
        payload = await self.ask(query, viewer, input=given)
        if payload["problems"]:
            raise SystemExit(f"{payload['problems']} for {given}")
        return payload


class Load:
    """One run, with a progress bar; prints the CPU it took."""

    def __init__(self, services: Services, progress: Progress) -> None:
        self._services = services
        self._client = Client(services)
        self._progress = progress
        self._several = asyncio.Semaphore(AT_ONCE)
        self._chance = random.Random(7)

    async def categories(self, nodes: Sequence[Node]) -> None:
        """Loads level by level, and siblings in sequence to keep their order in the file."""
        ids = {node.path: node for node in nodes}
        levels: dict[int, dict[tuple[str, ...], list[Node]]] = defaultdict(lambda: defaultdict(list))
        for node in nodes:
            levels[len(node.path)][node.path[:-1]].append(node)
        with self._timed("categories", len(nodes)) as done:

            async def children(parent: tuple[str, ...], inner: list[Node]) -> None:
                above = {"parentId": ids[parent].id} if parent else {}
                for node in inner:
                    given = {"name": node.path[-1][:200], "databaseId": node.category_id, **above}
                    await self._client.command(CREATE_CATEGORY, ADMIN, **given)
                    done()

            for level in sorted(levels):
                await self._all(children(parent, inner) for parent, inner in levels[level].items())

    async def people(self, names: Iterable[str]) -> None:
        users = [User(user_id=f"cook-{name}", username=name, email=f"{name}@example.org") for name in names]
        guards = [
            Unique(kind=kind, value=getattr(user, kind), owner_id=user.user_id)
            for user in users
            for kind in ("username", "email")
        ]
        for record in [*users, *guards]:
            await self._services.table.using(Usage.lasting(60)).put(record)

    async def cards(self, recipes: Sequence[Recipe], category_of: Callable[[Recipe], Node]) -> list[str]:
        """Loads the cards and returns their IDs."""
        made: list[str] = []
        with self._timed("cards", len(recipes)) as done:

            async def one(recipe: Recipe) -> None:
                payload = await self._client.command(
                    CREATE_CARD,
                    _cook(recipe.author),
                    title=recipe.title,
                    categoryId=category_of(recipe).id,
                    difficulty=recipe.difficulty,
                    tags=recipe.tags,
                    materials=recipe.materials,
                    instructions=recipe.instructions,
                    estimatedTime=recipe.minutes,
                    publish=True,
                )
                made.append(payload["card"]["id"])
                done()

            await self._all(map(one, recipes))
        return made

    async def votes(self, cards: Sequence[str], names: Sequence[str]) -> None:
        voters = {
            card: self._chance.sample(names, min(self._chance.randrange(MOST_VOTES), len(names))) for card in cards
        }
        with self._timed("votes", sum(map(len, voters.values()))) as done:

            async def on(card: str) -> None:
                for name in voters[card]:
                    ballot = self._chance.choice(["UP", "UP", "UP", "DOWN"])
                    await self._client.command(VOTE, _cook(name), targetId=card, ballot=ballot)
                    done()

            await self._all(map(on, cards))

    async def jobs(self) -> None:
        """Runs all queued jobs, some of which are due in two seconds."""
        table = self._services.table.using(Usage.lasting(3600))
        counting = Loaders(table, ADMIN)
        parts = [Job.within(partition=partition) for partition in range(JOB_PARTITIONS)]
        queued = sum([len(page) for part in parts async for page in counting.pages(part, 1_000)])
        with self._timed("jobs", queued) as done:
            while any([(await table.query(part, limit=1)).records for part in parts]):
                finished = await Worker(table).do_what_is_due()
                done(finished)
                if not finished:
                    await asyncio.sleep(0.1)

    async def searches(self) -> None:
        with self._timed("search index", 1) as done:
            await self._services.index_keeper.settle()
            done()
        for text in SEARCHES:
            cpu = time.process_time()
            page = await self._client.ask(SEARCH, Viewer(), text=text)
            used = 1000 * (time.process_time() - cpu)
            self._progress.print(f"{text!r}, {used:.1f} ms of CPU")
            for node in page["nodes"]:
                self._progress.print(
                    f"  {node['title']} ({node['voteScore']:+d}), {' > '.join(node['category']['path'])}"
                )

    async def _all(self, steps: Iterable[Awaitable[None]]) -> None:
        async def one(step: Awaitable[None]) -> None:
            async with self._several:
                await step

        await asyncio.gather(*map(one, steps))

    @contextmanager
    def _timed(self, what: str, total: int) -> Iterator[Callable[..., None]]:
        task = self._progress.add_task(what, total=total)
        started, cpu = time.perf_counter(), time.process_time()
        yield lambda number=1: self._progress.advance(task, number)
        took, used = time.perf_counter() - started, time.process_time() - cpu
        each = 1000 * used / max(total, 1)
        self._progress.print(f"{total:,} {what} in {took:.1f} s, {each:.2f} ms of CPU each")


def _cook(name: str) -> Viewer:
    return Viewer(f"cook-{name}")


def category_by_tags(nodes: Sequence[Node]) -> Callable[[Recipe], Node]:
    """Returns the first food category named like one of the tags, or food itself."""
    top = next((node for node in nodes if len(node.path) == 1 and "food" in node.path[0].lower()), nodes[0])
    named: dict[str, Node] = {}
    for node in nodes:
        if node.path[0] == top.path[0]:
            named.setdefault(node.path[-1].lower().rstrip("s"), node)
    return lambda recipe: next((found for tag in recipe.tags if (found := named.get(tag.lower().rstrip("s")))), top)


async def run(services: Services, nodes: Sequence[Node], recipes: Sequence[Recipe]) -> None:
    columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    names = sorted({recipe.author for recipe in recipes})
    with Progress(*columns) as progress:
        load = Load(services, progress)
        await load.categories(nodes)
        await load.people(names)
        cards = await load.cards(recipes, category_by_tags(nodes))
        await load.votes(cards, names)
        await load.jobs()
        await load.searches()
    await services.index_keeper.close()
    await services.table.transport.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.load_cards", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="the data; defaults to the usual locations")
    parser.add_argument("--categories", type=int, metavar="N", help="load the first N categories only")
    parser.add_argument("--cards", type=int, metavar="N", help="load the first N cards only")
    arguments = parser.parse_args()
    folders = [arguments.folder] if arguments.folder else USUAL_PLACES
    found = next((folder for folder in folders if (folder / CATEGORIES).is_file()), None)
    if found is None:
        raise SystemExit(f"{CATEGORIES} not found in {' or '.join(map(str, folders))}; pass its folder")
    with (found / CATEGORIES).open(encoding="utf-8") as lines:
        nodes = [*nodes_in(lines)][: arguments.categories]
    files = sorted((found / RECIPES).glob("*.md"))
    recipes = [recipe for file in files if (recipe := recipe_in(file.read_text(encoding="utf-8")))][: arguments.cards]
    settings = TableSettings()
    # The local engine slows down as it fills up, and retries slow it down further.
    transport.ATTEMPT_TIMEOUT = 60.0
    try:
        with endpoint.chosen(settings) as where:
            if not where.is_local:
                raise SystemExit(f"{where} is not on this machine; test data is only loaded into a local table")
            where.ensure_table(settings.table_name)
            print(f"Loading {len(nodes):,} categories and {len(recipes)} cards into {settings.table_name} at {where}")
            own = Settings(dynamodb_endpoint=where.endpoint, table_name=settings.table_name, auth_secret=SECRET)
            asyncio.run(run(Services.at(where, own, SECRET), nodes, recipes))
    except EngineFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
