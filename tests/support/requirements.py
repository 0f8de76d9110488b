"""Requirements as declarations: each names its kind and its DynamoDB calls, and docs/requirements.md lists them.

A module of tests/requirements makes one `Document` and declares every requirement on it, in the order of the page:

    social = Document("Social network")

    @social.access_pattern("Posts of a user, newest first", calls={"GetItem": 1, "Query": 1})
    async def test_posts_of_a_user(society, ask): ...

    social.not_built("Archive of old posts", "operation", why="old posts stay in the table")

The fixture `ask` compares the calls of the request with the declaration, so the page states what was measured.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["access pattern", "rule", "operation", "retention"]
Calls = Mapping[str, int]
Test = Callable[..., Any]


@dataclass(frozen=True)
class Requirement:
    """Has a test, or a reason why it is not built yet."""

    text: str
    kind: Kind
    calls: Calls | None = None
    test: str | None = None
    why: str | None = None


@dataclass
class Document:
    """The requirements of one of the source documents, in the order of their declaration."""

    title: str
    requirements: list[Requirement] = field(default_factory=list)

    def access_pattern(self, text: str, *, calls: Calls) -> Callable[[Test], Test]:
        return self._tested(text, "access pattern", calls)

    def operation(self, text: str, *, calls: Calls | None = None) -> Callable[[Test], Test]:
        return self._tested(text, "operation", calls)

    def rule(self, text: str, *, calls: Calls | None = None) -> Callable[[Test], Test]:
        return self._tested(text, "rule", calls)

    def retention(self, text: str, *, calls: Calls | None = None) -> Callable[[Test], Test]:
        return self._tested(text, "retention", calls)

    def not_built(self, text: str, kind: Kind, *, why: str) -> None:
        self._add(Requirement(text, kind, why=why))

    def _tested(self, text: str, kind: Kind, calls: Calls | None) -> Callable[[Test], Test]:
        def declare(test: Test) -> Test:
            if (calls is not None) != ("ask" in inspect.signature(test).parameters):
                raise TypeError(f"{test.__name__}: state `calls` if and only if the test uses the fixture `ask`")
            requirement = Requirement(text, kind, calls, test.__name__)
            self._add(requirement)
            test.requirement = requirement
            return test

        return declare

    def _add(self, requirement: Requirement) -> None:
        if requirement.text in (known.text for known in self.requirements):
            raise ValueError(f"{requirement.text!r} is declared twice in {self.title!r}")
        self.requirements.append(requirement)
