"""The examples of the documentation: code blocks of a page, run in order against a server as a reader would."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import graphql

from resolvers import demo
from tests.support.command_line import heartwood
from tests.support.serving import ROOT, Served

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CALLER = re.compile(
    r"# (?:As (?P<name>[\w-]+)(?:, role (?P<role>\w+))?(?:, tenant (?P<tenant>[\w-]+))?|Tenant (?P<only>[\w-]+))"
)
ASSIGNMENT = re.compile(r"(\w+)=\$\((.*)\)")
CODE = re.compile(r"^(eyJ\S+)$", re.MULTILINE)
ADDRESS = "localhost:8000"
REST = "…"
"""In an expected answer: any value, the rest of a string, or the other items of a list or members of an object."""


@dataclass(frozen=True)
class Block:
    """A code block. `answer` is the JSON block after it, if there is one."""

    page: str
    line: int
    language: str
    text: str
    answer: Any = None

    @property
    def name(self) -> tuple[str, str]:
        """The page and the first line: what the list of blocks that are not run has."""
        return self.page, self.text.partition("\n")[0]


def blocks_of(path: Path) -> list[Block]:
    """Returns the blocks of a page. An answer belongs to the example before it and is no block of its own."""
    text, found = path.read_text(), list[Block]()
    end_of_example = -1
    for fence in FENCE.finditer(text):
        language, code = fence.groups()
        if language == "json" and not text[end_of_example : fence.start()].strip() and end_of_example >= 0:
            found[-1] = Block(**{**vars(found[-1]), "answer": json.loads(code)})
            end_of_example = -1
            continue
        line = text.count("\n", 0, fence.start()) + 1
        found.append(Block(path.relative_to(ROOT).as_posix(), line, language, code.rstrip("\n")))
        end_of_example = fence.end() if language in ("graphql", "bash") else -1
    return found


@dataclass
class Reader:
    """Runs examples. `values` are the variables: what the answers so far contained. `log` is the log of the server."""

    server: Served
    folder: Path
    environment: dict[str, str]
    log: Callable[[], str]
    values: dict[str, Any] = field(default_factory=dict)
    shell: dict[str, str] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        __tracebackhide__ = True
        answer = self._query(block) if block.language == "graphql" else self._commands(block)
        at = f"{block.page}:{block.line}"
        if block.answer is not None:
            assert filled(block.answer, answer) == answer, f"{at} has another answer:\n{_shown(answer)}"
        else:
            assert list(refusals(answer)) == [], f"{at} is refused:\n{_shown(answer)}"
        if isinstance(answer, dict):
            self._remember(answer.get("data"))

    def _query(self, block: Block) -> Any:
        operation = graphql.parse(block.text).definitions[0]
        assert isinstance(operation, graphql.OperationDefinitionNode)
        names = [each.variable.name.value for each in operation.variable_definitions or ()]
        if codes := CODE.findall(self.log()):
            self.values["code"] = codes[-1]
        missing = [name for name in names if name not in self.values]
        assert not missing, f"{block.page}:{block.line}: no answer before has a value for {missing}"
        caller = CALLER.match(block.text)
        response = self.server.post(
            block.text, self._headers(caller), variables={name: self.values[name] for name in names}
        )
        return response.json()

    def _headers(self, caller: re.Match[str] | None) -> dict[str, str]:
        if caller is None:
            return {}
        tenant = caller["tenant"] or caller["only"]
        headers = {"x-tenant-id": tenant} if tenant else {}
        if caller["name"]:
            headers["authorization"] = f"Bearer {self.token_of(caller['name'], caller['role'])}"
        return headers

    def token_of(self, name: str, role: str | None = None) -> str:
        """Returns the token of a program with a role, or that of a user, who logs in."""
        if role:
            return self._heartwood(["token", name, "--role", role]).strip()
        log_in = "mutation ($input: LogInInput!) { logIn(input: $input) { token } }"
        answer = self.server.post(log_in, variables={"input": {"login": name, "password": demo.PASSWORD}}).json()
        token: str | None = answer["data"]["logIn"]["token"]
        assert token, f"{name} cannot log in with the password of the demo"
        return token

    def _commands(self, block: Block) -> Any:
        """Runs the lines of a block and returns what the last one printed, as JSON if it is that."""
        printed = ""
        for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            if assignment := ASSIGNMENT.fullmatch(line):
                self.shell[assignment[1]] = self._command(assignment[2]).strip()
            else:
                printed = self._command(line)
        try:
            return json.loads(printed)
        except ValueError:
            return printed

    def _command(self, line: str) -> str:
        if line.startswith("curl "):
            here = line.replace(ADDRESS, "{}:{}".format(*self.server.address))
            # The documentation is ours, and is written for a shell.
            done = subprocess.run(
                ["bash", "-c", here.replace("curl ", "curl --silent --show-error --fail-with-body ", 1)],
                cwd=self.folder,
                env={**self.environment, **self.shell, "NO_PROXY": "*"},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            return done.stdout
        words = shlex.split(line, comments=True)
        if words[0] == "make":  # It installs, serves or tests; the targets exist, and other tests run what they run.
            assert re.search(f"^{re.escape(words[1])}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
            return ""
        assert words[0].removeprefix(".venv/bin/") == "heartwood", f"no way to run {line!r}"
        return self._heartwood(words[1:])

    def _heartwood(self, words: list[str]) -> str:
        with chdir(self.folder):
            done = heartwood(*words, **self.environment)
        assert done.returncode == 0, f"heartwood {shlex.join(words)}\n{done.stderr}"
        return done.stdout

    def _remember(self, value: Any, name: str = "") -> None:
        """`$postId` is the `id` of the last `post` in an answer; `$endCursor` is the last `endCursor`."""
        if isinstance(value, dict):
            if "id" in value:
                self.values[f"{name}Id"] = value["id"]
            for key, each in value.items():
                self._remember(each, key)
        elif isinstance(value, list):
            for each in value:
                self._remember(each, name)
        elif value is not None:
            self.values[name] = value


def filled(expected: Any, actual: Any) -> Any:
    """Returns the expected answer with the parts that it leaves open taken from the actual one."""
    if expected == REST:
        return actual
    if isinstance(expected, str) and isinstance(actual, str) and expected.endswith(REST):
        return actual if actual.startswith(expected.removesuffix(REST)) else expected
    if isinstance(expected, dict) and isinstance(actual, dict):
        rest = actual if REST in expected else {}
        named = {key: filled(value, actual.get(key)) for key, value in expected.items() if key != REST}
        return {**rest, **named}
    if isinstance(expected, list) and isinstance(actual, list):
        is_open = expected[-1:] == [REST]
        shown = expected[:-1] if is_open else expected
        rest = actual[len(shown) :] if is_open else []
        return [filled(each, actual[place]) if place < len(actual) else each for place, each in enumerate(shown)] + rest
    return expected


def refusals(answer: Any) -> Iterator[Any]:
    """Yields the errors and problems in an answer."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            if key in ("errors", "problems"):
                yield from value
            else:
                yield from refusals(value)
    elif isinstance(answer, list):
        for each in answer:
            yield from refusals(each)


def _shown(answer: Any) -> str:
    return json.dumps(answer, indent=2, ensure_ascii=False)
