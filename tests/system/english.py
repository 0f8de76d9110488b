"""Checks the project's English: phrases and spellings that english.toml lists, and how descriptions begin.

    python -m tests.system.english            # print what is left; fail if there is anything
    python -m tests.system.english --summary  # the number of findings per folder
    python -m tests.system.english resolvers/cards schema/cards.py   # only these

Phrases are looked for in comments, docstrings, descriptions, messages and documents; spellings in all tracked text.
"""

import argparse
import ast
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
PHRASES = {rule.replace(" ", r"\s+"): instead for rule, instead in RULES["phrases"].items()}
ANY_PHRASE = re.compile(rf"\b({'|'.join(f'(?:{rule})' for rule in PHRASES)})\b", re.IGNORECASE)
SPELLINGS = {re.compile(rule): instead for rule, instead in RULES["spellings"].items()}
WORD = re.compile(r"[^\W\d_]+")
TEXT = {".py", ".md", ".graphql", ".js", ".mjs", ".html", ".css", ".toml", ".yaml", ""}
GENERATED = {"docs/table-design.md", "schema/schema.graphql", "schema/released.graphql"}
EXEMPT = {"LICENSE", "tests/system/english.toml"}
# Strings in these folders are people's speech and other data; their comments and docstrings are checked.
DATA = ("tests/", "resolvers/demo/", "benchmarks/load_cards.py")
BEGINNING = re.compile(r"(?:What|Who|Whom|Whose|Whether|When|Which|How(?!-to)|Where|Whatever|Whoever)\b")
INSTEAD = "a noun phrase for a field, “True if …” for a boolean, a verb for a function"
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


class Passage(NamedTuple):
    line: int
    text: str
    is_description: bool = False


class Finding(NamedTuple):
    path: str
    line: int
    found: str
    instead: str


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the project's English.")
    parser.add_argument("paths", nargs="*", help="files and folders; everything by default")
    parser.add_argument("--summary", action="store_true", help="print the number of findings per folder")
    parser.add_argument("--report-only", action="store_true", help="succeed even if there are findings")
    arguments = parser.parse_args()
    found = [each for each in findings() if not arguments.paths or each.path.startswith(tuple(arguments.paths))]
    if arguments.summary:
        for folder, number in sorted(Counter(_folder(each.path) for each in found).items()):
            print(f"{number:6}  {folder}")
    else:
        for each in found:
            print(f"{each.path}:{each.line}: {each.found!r}; write: {each.instead}")
    print(f"{len(found)} findings of english.toml" if found else "The English is plain.")
    return 1 if found and not arguments.report_only else 0


def findings() -> list[Finding]:
    sources: dict[str, list[tuple[str, int]]] = {}
    found: set[Finding] = set()
    for path in _tracked():
        text = (ROOT / path).read_text()
        if path not in GENERATED:
            found.update(_misspelled(path, text))
        for passage in _passages(path, text):
            sources.setdefault(_normal(passage.text), []).append((path, passage.line))
            found.update(_phrases(path, passage))
            if passage.is_description:
                found.update(_beginning(path, passage))
    # A description of the graph is written in Python: it is reported where its text is, if that can be found.
    for passage in _descriptions((ROOT / "schema/schema.graphql").read_text()):
        for path, line in sources.get(_normal(passage.text), [("schema/schema.graphql", passage.line)]):
            found.update(_beginning(path, passage._replace(line=line)))
    return sorted(found)


def _misspelled(path: str, text: str) -> Iterator[Finding]:
    for match in WORD.finditer(text):
        if instead := _american(match[0].lower()):
            yield Finding(path, text.count("\n", 0, match.start()) + 1, match[0], instead)


@cache
def _american(word: str) -> str | None:
    return next((instead for rule, instead in SPELLINGS.items() if rule.search(word)), None)


def _phrases(path: str, passage: Passage) -> Iterator[Finding]:
    for match in ANY_PHRASE.finditer(passage.text):
        line = passage.line + passage.text.count("\n", 0, match.start())
        instead = next(instead for rule, instead in PHRASES.items() if re.fullmatch(rule, match[0], re.IGNORECASE))
        yield Finding(path, line, _normal(match[0]), instead)


def _beginning(path: str, passage: Passage) -> Iterator[Finding]:
    if match := BEGINNING.match(passage.text.lstrip()):
        yield Finding(path, passage.line, f"{match[0]} …", INSTEAD)


def _passages(path: str, text: str) -> Iterator[Passage]:
    if path in GENERATED:
        return
    if path.endswith(".py"):
        yield from _comments(path)
        yield from _strings(ast.parse(text), only_docstrings=path.startswith(DATA))
    else:
        yield Passage(1, CODE.sub(lambda code: "\n" * code[0].count("\n") or "`…`", text))


def _comments(path: str) -> Iterator[Passage]:
    """Returns comments; those on consecutive lines are one, since phrases can run over them."""
    block: list[str] = []
    first = last = 0
    with tokenize.open(ROOT / path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                if block and token.start[0] != last + 1:
                    yield Passage(first, "\n".join(block))
                    block = []
                if not block:
                    first = token.start[0]
                last = token.start[0]
                block.append(token.string.lstrip("#"))
    if block:
        yield Passage(first, "\n".join(block))


def _strings(module: ast.Module, *, only_docstrings: bool) -> Iterator[Passage]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = list(ast.walk(module))
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_docstring = id(node) in docstrings
            if is_docstring or not only_docstrings:
                yield Passage(node.lineno, node.value, is_description=is_docstring)


def _descriptions(graph: str) -> Iterator[Passage]:
    for match in re.finditer(r'"""(.*?)"""', graph, re.DOTALL):
        yield Passage(graph.count("\n", 0, match.start()) + 1, match[1])


def _tracked() -> list[str]:
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True)
    paths = [path for path in listed.splitlines() if Path(path).suffix in TEXT and (ROOT / path).is_file()]
    return [path for path in paths if path not in EXEMPT]


def _folder(path: str) -> str:
    """Returns the domain's folder or the layer's file, such as `resolvers/cards` or `datastore/cards.py`."""
    return "/".join(path.split("/")[: 3 if path.startswith("tests/resolvers/") else 2])


def _normal(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
