"""The fields of a tantivy index, and the writes to one. Everything here blocks, so it runs in threads."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import tantivy

from resolvers.search.analyzed import analyzed, prior, shown_texts
from resolvers.search.documents import Document
from resolvers.search.engine import Positions
from resolvers.search.queries import TWO_TYPOS

VERSION = 1
"""Raise it when fields or the analysis change: another version is another index, which is built from the table."""

# The positions are in a document of their own, so that they are committed with everything else.
POSITIONS = "\x1fpositions"
EXACT = ("type", "category", "tag", "difficulty", "year")
HEAP = 30_000_000
# A word with two typos may have lost two letters.
SHORTEST_WITH_TWO_TYPOS = TWO_TYPOS - 2


def new_index(folder: Path | None) -> Any:
    """Creates or opens an index in a folder, or in memory."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("key", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("shown", stored=True)
    for name in EXACT:
        builder.add_text_field(name, stored=name == "type", fast=True, tokenizer_name="raw", index_option="basic")
    for name in ("audience", "owner", "within", "language"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="position")
    for name in ("title_stem", "tags", "text_stem"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    for name in ("title_typos", "text_typos"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="basic")
    builder.add_float_field("prior", fast=True)
    schema = builder.build()
    index = tantivy.Index(schema, path=str(folder) if folder else None)
    index.config_reader("manual")
    return index


class Writing:
    """The one writer of an index."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._writer = index.writer(HEAP, 1)
        self._depends: dict[str, str | None] = {}

    def update(self, documents: Sequence[Document], removed: Sequence[str]) -> None:
        for key in removed:
            self._writer.delete_documents_by_term("key", key)
            self._depends[key] = None
        for document in documents:
            self._writer.delete_documents_by_term("key", document.key)
            self._writer.add_document(stored(document))
            self._depends[document.key] = document.depends

    def depends(self, keys: Sequence[str]) -> dict[str, str]:
        searcher, schema = self._index.searcher(), self._index.schema
        unknown = [key for key in keys if key not in self._depends]
        found = {key: depends for key in keys if (depends := self._depends.get(key)) is not None}
        if unknown:
            among = tantivy.Query.term_set_query(schema, "key", unknown)
            for _, address in searcher.search(among, len(unknown), count=False).hits:
                document = searcher.doc(address)
                found[document["key"][0]] = shown_in(document)["depends"]
        return found

    def commit(self, positions: Positions | None) -> None:
        self._writer.delete_documents_by_term("key", POSITIONS)
        if positions is not None:
            shown = orjson.dumps({str(partition): number for partition, number in positions.items()})
            self._writer.add_document(tantivy.Document(key=POSITIONS, shown=shown))
        self._writer.commit()
        self._index.reload()
        self._depends.clear()

    def close(self) -> None:
        """Gives the index to other writers. What is not committed is lost."""
        self._writer.rollback()
        self._writer.wait_merging_threads()
        del self._writer


def stored(document: Document) -> Any:
    made = analyzed(document)
    shown = {"texts": shown_texts(document.texts), "depends": document.depends}
    fields: dict[str, Any] = {
        "key": document.key,
        "shown": orjson.dumps(shown),
        "type": document.type,
        "audience": [*document.audiences],
        "owner": document.owner_id,
        "within": document.within,
        "category": document.category_id,
        "tag": [*document.tags],
        "difficulty": document.difficulty,
        "year": document.year,
        "language": made.language,
        "title": made.title,
        "title_stem": made.title_stem,
        "tags": made.tags,
        "text": made.text,
        "text_stem": made.text_stem,
        "title_typos": _for_typos(made.title),
        "text_typos": _for_typos(made.text),
        "prior": prior(document),
    }
    return tantivy.Document(**{name: value for name, value in fields.items() if value not in (None, "", [])})


def with_first_letter(word: str) -> str:
    """Returns a token in which the first letter counts three times, for fields in which two typos are looked for.

    Words with other first letters are then three typos away. Looking through the few others is ten times as fast.
    """
    return word[0] * 2 + word


def _for_typos(text: str) -> str:
    long = {word for word in text.split(" ") if len(word) >= SHORTEST_WITH_TWO_TYPOS}
    return " ".join(map(with_first_letter, sorted(long)))


def shown_in(document: Any) -> Mapping[str, Any]:
    return orjson.loads(bytes(document["shown"][0]))  # type: ignore[no-any-return]


def positions_in(index: Any) -> Positions | None:
    """Returns the positions of the last commit."""
    searcher = index.searcher()
    hits = searcher.search(tantivy.Query.term_query(index.schema, "key", POSITIONS, "basic"), 1, count=False).hits
    if not hits:
        return None
    return {int(partition): number for partition, number in shown_in(searcher.doc(hits[0][1])).items()}
