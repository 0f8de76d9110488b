"""Constraints of cards: pictures, instructions and tags."""

from collections.abc import Sequence

from resolvers.core.constraints import MAX_URL, Constraint, Each, HttpsUrl, JsonList, Report, Text


class Pictures(Constraint):
    """URLs of pictures; blank ones are left out."""

    urls = Each(Text(at_most=MAX_URL), at_most=10)

    @property
    def limit(self) -> str:
        return f"At most {self.urls.at_most} https URLs of at most {MAX_URL:,} bytes each."

    def check(self, value: Sequence[str], report: Report) -> list[str]:
        return [HttpsUrl().check(url, report) for url in self.urls.check(value, report)]


class Instructions(Constraint):
    """Steps of a card, as large as they are in JSON."""

    steps = Each(Text(at_most=5_000), at_most=200)
    size = JsonList(at_most=40_000)

    @property
    def limit(self) -> str:
        return f"At most {self.steps.at_most} steps and {self.size.at_most:,} bytes in total."

    def check(self, value: Sequence[str], report: Report) -> list[str]:
        steps = self.steps.check(value, report)
        self.size.check(steps, report)
        return steps


class Tags(Constraint):
    """Tags, each once regardless of case."""

    tags = Each(Text(at_most=40), at_most=10)

    @property
    def limit(self) -> str:
        return self.tags.limit

    def check(self, value: Sequence[str], report: Report) -> list[str]:
        each: dict[str, str] = {}
        for tag in self.tags.check(value, report):
            each.setdefault(tag.casefold(), tag)
        return [*each.values()]
