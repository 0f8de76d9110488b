"""Measures the search on known-item queries: which of them find the card that they were made from, and how fast.

Queries of several kinds are made from a folder of cards (Markdown files as `load_cards` reads them, or others whose
first line is the title), without looking at what the search can do. `--documents` adds generated documents around them.
"""

import argparse
import asyncio
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.load_cards import USUAL_PLACES, recipe_in
from resolvers.search.documents import EVERYONE, Document, Text, Weight, text_in
from resolvers.search.embedded import EmbeddedEngine, EmbeddedGeneration
from resolvers.search.embedded_query import Searching
from resolvers.search.engine import SearchRequest
from resolvers.search.languages import STOP_WORDS
from resolvers.search.queries import parsed

PER_KIND = 40
TOP = 20
TIMES = 3
"""Each query runs so many times, and the shortest of them counts: the others were interrupted."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
word_in = re.compile(r"[^\W\d_]{3,}")

OTHERS = {
    "de": ("Ein Tisch aus Eichenholz", "So werden alte Tische und Stühle aus Eichenholz wieder schön.", "alter tisch"),
    "fr": ("Réparer les chaises anciennes", "Comment réparer et vernir des chaises pour la maison.", "chaise ancienne"),
    "es": ("Arreglar bicicletas viejas", "Cómo arreglar las bicicletas que no se usan en la casa.", "bicicleta vieja"),
    "ru": ("Ремонт деревянных стульев", "Как починить старые стулья и столы для дома.", "деревянный стул"),
    "it": ("Verniciare le finestre", "Come verniciare le vecchie finestre della casa.", "finestra vecchia"),
    "sv": ("Måla om gamla fönster", "Hur man målar om gamla fönster och dörrar i huset.", "gammalt fönster"),
    "ja": ("木工入門", "木の机と椅子の作り方を説明します。", "木工"),
    "zh": ("自制木桌", "如何用旧木头制作一张桌子。", "木桌"),
    "th": ("ทาสีบ้าน", "วิธีทาสีบ้านไม้เก่า", "ทาสี"),
    "ko": ("나무 의자 수리", "낡은 나무 의자를 고치는 방법.", "의자 수리"),
}
"""A card in each of some languages, with a query for it."""


class Item(NamedTuple):
    """A card."""

    key: str
    title: str
    tags: Sequence[str]
    body: str

    @property
    def document(self) -> Document:
        texts = [Text("title", self.title, Weight.TITLE), *(Text("tags", tag, Weight.TAGS) for tag in self.tags)]
        return Document(self.key, "Card", [*texts, Text("body", self.body)], [EVERYONE], tags=self.tags)


def items_in(folder: Path) -> Iterator[Item]:
    for file in sorted(folder.rglob("*.md")):
        text = file.read_text()
        if recipe := recipe_in(text):
            yield Item(file.stem, recipe.title, recipe.tags, text_in([recipe.instructions, recipe.materials]))
        elif not text.startswith("---"):
            title, _, body = text.partition("\n")
            yield Item(file.stem, title.strip("# "), [], body)


def words_of(text: str) -> list[str]:
    return [word for word in word_in.findall(text.lower()) if word not in STOP_WORDS["en"]]


def with_typo(word: str, chance: random.Random) -> str:
    """Changes one letter after the first: most typos are there."""
    at = chance.randrange(1, len(word))
    kind = chance.choice(("drop", "double", "replace", "swap"))
    if kind == "swap" and at + 1 < len(word):
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "double":
        return word[:at] + word[at] + word[at:]
    letter = chance.choice(LETTERS) if kind == "replace" else ""
    return word[:at] + letter + word[at + 1 :]


def inflected(word: str) -> str | None:
    """Returns another form of an English word."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    if word.endswith("ed") and len(word) > 5:
        return word[:-2] + "ing"
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + "s"


class Maker:
    """Makes queries of every kind from cards. A query is of use only if its words are those of few cards."""

    def __init__(self, items: Sequence[Item], seed: int) -> None:
        self.items = items
        self.chance = random.Random(seed)
        self.counts: dict[str, int] = defaultdict(int)
        for item in items:
            for word in {*words_of(f"{item.title} {' '.join(item.tags)} {item.body}")}:
                self.counts[word] += 1

    def queries(self) -> dict[str, list[tuple[str, str]]]:
        """Returns queries by kind, each with the key of the card that is looked for."""
        makers = {
            "title words": self.title_words,
            "prefix": self.prefix,
            "one typo": self.one_typo,
            "two typos": self.two_typos,
            "inflection": self.inflection,
            "stop words": self.stop_words,
            "title and body": self.title_and_body,
            "body only": self.body_only,
        }
        made: dict[str, list[tuple[str, str]]] = {kind: [] for kind in makers}
        for kind, maker in makers.items():
            for item in self.chance.sample(self.items, len(self.items)):
                query = maker(item)
                if query and len(made[kind]) < PER_KIND:
                    made[kind].append((query, item.key))
        return made

    def _title(self, item: Item) -> list[str]:
        """Returns words of the title that tell the card from most others."""
        words = sorted({*words_of(item.title)}, key=lambda word: (self.counts[word], word))
        return words[:2] if words and self.counts[words[0]] <= TOP else []

    def title_words(self, item: Item) -> str | None:
        return " ".join(self._title(item)) or None

    def prefix(self, item: Item) -> str | None:
        words = self._title(item)
        if not words or len(words[0]) < 5:
            return None
        return " ".join([*words[1:], words[0][:4]])

    def one_typo(self, item: Item) -> str | None:
        words = self._title(item)
        if not words or len(words[0]) < 4:
            return None
        return " ".join([with_typo(words[0], self.chance), *words[1:]])

    def two_typos(self, item: Item) -> str | None:
        words = self._title(item)
        if not words or len(words[0]) < 8:
            return None
        return " ".join([with_typo(with_typo(words[0], self.chance), self.chance), *words[1:]])

    def inflection(self, item: Item) -> str | None:
        words = self._title(item)
        other = inflected(words[0]) if words and len(words[0]) > 3 else None
        return " ".join([other, *words[1:]]) if other else None

    def stop_words(self, item: Item) -> str | None:
        words = self._title(item)
        return f"how to make the {' and the '.join(words)}" if words else None

    def title_and_body(self, item: Item) -> str | None:
        title, rare = self._title(item), self._rare(item)
        return f"{title[0]} {rare[0]}" if title and rare else None

    def body_only(self, item: Item) -> str | None:
        rare = self._rare(item)
        return " ".join(rare[:3]) if len(rare) >= 3 else None

    def _rare(self, item: Item) -> list[str]:
        """Returns words of the body that few cards have."""
        others = {*words_of(item.title)}
        words = sorted({*words_of(item.body)} - others, key=lambda word: (self.counts[word], word))
        return [word for word in words if self.counts[word] <= TOP][:3]


def generated(count: int, items: Sequence[Item], seed: int) -> Iterator[Document]:
    """Yields documents of words that are as frequent as in a language, half of them words of the cards."""
    chance = random.Random(seed)
    real = [word for item in items for word in words_of(f"{item.title} {item.body}")]
    made = ["".join(chance.choice(LETTERS) for _ in range(chance.randrange(3, 10))) for _ in range(50_000)]
    for number in range(count):
        words = [
            chance.choice(real) if chance.random() < 0.5 else made[int(len(made) * chance.random() ** 3)]
            for _ in range(40)
        ]
        body = " ".join(words[4:])
        yield Item(f"generated {number}", " ".join(words[:4]), [], body).document


class Outcome(NamedTuple):
    """The rank of the card that was looked for, and the time of the query: of the clock, and of the CPU."""

    kind: str
    query: str
    key: str
    rank: int | None
    seconds: float
    cpu: float


def measure(index: Any, queries: dict[str, list[tuple[str, str]]]) -> list[Outcome]:
    searching = Searching(index)
    languages = searching.languages()[:3]
    outcomes = []
    for kind, made in queries.items():
        for text, key in made:
            times = []
            for _ in range(TIMES):
                started_at, cpu = time.perf_counter(), time.thread_time()
                request = SearchRequest(parsed(text, languages), frozenset({EVERYONE}), limit=TOP)
                hits = [hit.key for hit in searching.query(request).hits]
                times.append((time.perf_counter() - started_at, time.thread_time() - cpu))
            seconds, cpu = map(min, zip(*times, strict=True))
            outcomes.append(Outcome(kind, text, key, hits.index(key) + 1 if key in hits else None, seconds, cpu))
    return outcomes


def report(outcomes: Sequence[Outcome], *, misses: bool) -> tuple[float, float, float]:
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome)
    print(
        f"{'kind':16} {'queries':>7} {'recall@1':>9} {'recall@20':>9} {'MRR':>6} {'p50 ms':>7} {'p99 ms':>7}"
        f" {'CPU p50':>7} {'CPU p99':>7}"
    )
    lowest = 1.0
    for kind, each in [*by_kind.items(), ("all", [*outcomes])]:
        first, found, mrr = figures(each)
        lowest = min(lowest, found)
        times = [outcome.seconds for outcome in each]
        cpu = [outcome.cpu for outcome in each]
        milliseconds = [percentile(some, part) for some in (times, cpu) for part in (0.5, 0.99)]
        print(
            f"{kind:16} {len(each):7} {first:9.2f} {found:9.2f} {mrr:6.2f}"
            + "".join(f" {value:7.1f}" for value in milliseconds)
        )
    if misses:
        for outcome in outcomes:
            if outcome.rank != 1:
                print(f"{outcome.kind}: {outcome.query!r} finds {outcome.key!r} at {outcome.rank}")
    _, found, mrr = figures(outcomes)
    return found, lowest, mrr


def percentile(seconds: Sequence[float], part: float) -> float:
    """Returns milliseconds."""
    return 1000 * sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * part))]


def figures(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    """Returns recall@1, recall@20 and the mean reciprocal rank."""
    ranks = [outcome.rank for outcome in outcomes]
    count = len(ranks) or 1
    return (
        sum(rank == 1 for rank in ranks) / count,
        sum(rank is not None for rank in ranks) / count,
        sum(1 / rank for rank in ranks if rank) / count,
    )


async def run(folder: Path, documents: int, seed: int, *, misses: bool) -> tuple[float, float, float]:
    items = [*items_in(folder)]
    if not items:
        raise SystemExit(f"{folder} has no cards: give a folder of Markdown files")
    others = [Item(language, title, [], body) for language, (title, body, _) in OTHERS.items()]
    queries = Maker(items, seed).queries()
    queries["other languages"] = [(query, language) for language, (*_, query) in OTHERS.items()]
    with tempfile.TemporaryDirectory() as scratch:
        engine = EmbeddedEngine(Path(scratch))
        generation = await engine.begin()
        assert isinstance(generation, EmbeddedGeneration)
        started_at = time.perf_counter()
        every = [item.document for item in (*items, *others)]
        fillers = generated(max(0, documents - len(every)), items, seed)
        await generation.update(every, [], version=1)
        while some := [each for _, each in zip(range(1_000), fillers, strict=False)]:
            await generation.update(some, [], version=1)
        await generation.commit({0: 1})
        await engine.switch(generation)
        seconds, segments = time.perf_counter() - started_at, generation.index.searcher().num_segments
        print(f"{max(documents, len(every)):,} documents in {segments} segments, indexed in {seconds:.1f} s")
        # The first queries read the index from the disk.
        measure(generation.index, {kind: made[:3] for kind, made in queries.items()})
        outcomes = measure(generation.index, queries)
        await engine.close()
    return report(outcomes, misses=misses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    usual = next((place / "recipes" for place in USUAL_PLACES if place.exists()), None)
    parser.add_argument("folder", nargs="?", type=Path, default=usual, help="folder of cards")
    parser.add_argument("--documents", type=int, default=0, help="number of documents, with generated ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="print queries whose card is not the first")
    given = parser.parse_args()
    if given.folder is None:
        parser.error("there are no cards in the usual places; give a folder")
    asyncio.run(run(given.folder, given.documents, given.seed, misses=given.misses))


if __name__ == "__main__":
    main()
