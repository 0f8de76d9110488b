"""Hashtags: they are found like records, but exist in the captions of posts only."""

from dataclasses import dataclass

from resolvers.search.documents import EVERYONE, SEPARATOR, Document, Text, Weight

HASHTAG = "Hashtag"


@dataclass(frozen=True)
class Hashtag:
    """A hashtag in the captions of posts."""

    name: str
    post_count: int


def hashtag_documents(document: Document) -> list[Document]:
    """Returns a document for each hashtag of a post. It stays when the last post is gone, and is not shown then."""
    return [
        Document(f"{HASHTAG}{SEPARATOR}{tag}", HASHTAG, [Text("name", f"#{tag}", Weight.TITLE)], [EVERYONE])
        for tag in document.tags
    ]
