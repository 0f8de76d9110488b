"""The fields of an OpenSearch index, and how a document is written to one."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import orjson

from resolvers.search.analyzed import GAP, analyzed, prior, shown_texts
from resolvers.search.documents import Document

LONGEST_ID = 512
KEYWORDS = ("type", "category", "tag", "difficulty", "year", "audience", "owner", "within", "language")


def template(alias: str) -> dict[str, Any]:
    """Returns the template of all generations. Texts are analyzed already, so they are only split at spaces."""
    words = {"type": "text", "analyzer": "whitespace"}
    bag = {**words, "index_options": "freqs"}
    return {
        "index_patterns": [f"{alias}-*"],
        "priority": 200,
        "template": {
            "settings": {
                # Updates become visible by commits only.
                "index.refresh_interval": "-1",
                "index.auto_expand_replicas": "0-1",
                # A late write of a former writer must not bring back what was deleted.
                "index.gc_deletes": "1h",
                "index.max_result_window": 10_000,
            },
            "mappings": {
                "dynamic": "strict",
                # Only what answers need is stored: the index is built from the table, never from itself.
                "_source": {"includes": ["key", "type", "shown", "state"]},
                "properties": {
                    "key": {"type": "keyword"},
                    **{name: {"type": "keyword"} for name in KEYWORDS},
                    "title": words,
                    "text": words,
                    "title_stem": bag,
                    "tags": bag,
                    "text_stem": bag,
                    "prior": {"type": "float"},
                    "shown": {"type": "object", "enabled": False},
                    "state": {"type": "object", "enabled": False},
                },
            },
        },
    }


def document_id(key: str) -> str:
    """Returns the ID of a document: its key, unless that is too long."""
    return key if len(key.encode()) <= LONGEST_ID else f"sha256 {sha256(key.encode()).hexdigest()}"


def source(document: Document) -> dict[str, Any]:
    made = analyzed(document)
    fields: dict[str, Any] = {
        "key": document.key,
        "shown": {"texts": shown_texts(document.texts), "depends": document.depends},
        "type": document.type,
        "audience": [*document.audiences],
        "owner": document.owner_id,
        "within": document.within,
        "category": document.category_id,
        "tag": [*document.tags],
        "difficulty": document.difficulty,
        "year": document.year,
        "language": made.language,
        # Values of a list are no neighbors, as texts with a gap between them.
        "title": _values(made.title),
        "title_stem": made.title_stem,
        "tags": made.tags,
        "text": _values(made.text),
        "text_stem": made.text_stem,
        "prior": prior(document),
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _values(text: str) -> list[str]:
    return [value for value in text.split(GAP) if value]


def put(key: str, version: int) -> bytes:
    """Returns the line of a bulk request that puts a document: its source follows."""
    return orjson.dumps({"index": _action(key, version)})


def remove(key: str, version: int) -> bytes:
    return orjson.dumps({"delete": _action(key, version)})


def _action(key: str, version: int) -> dict[str, Any]:
    return {"_id": document_id(key), "version": version, "version_type": "external_gte"}


def ids(keys: Iterable[str]) -> list[str]:
    return [document_id(key) for key in keys]
