"""`heartwood new entity NAME`: writes the files of docs/adding-an-entity.md under another name."""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from graphql import GraphQLObjectType

from datastore.model.codec import camel
from datastore.model.entity import REGISTRY
from schema.build import build

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs/adding-an-entity.md"
MOST_CHARACTERS = 30
SOURCES = re.compile(r"```python\n# (\S+\.py)\n(.*?)```", re.DOTALL)
LITERAL = re.compile(r'("""(?:.*?)"""|"[^"\n]*")', re.DOTALL)
GENERATED = {
    "schema/schema.graphql": ("schema",),
    "docs/table-design.md": ("schema", "--table-design"),
    "docs/schema-changelog.md": ("schema", "--changelog"),
}


class Failed(Exception):
    """A failure that the user can fix; the message says how."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    entity = kinds.add_parser("entity", help="an entity with its edges, commands, types and tests")
    entity.add_argument("name", help="singular name of the entity, such as Bookmark or ReadingList")


def run(arguments: argparse.Namespace) -> int:
    try:
        written = new_entity(arguments.name)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(written))
    print("Next: `make test`, then make it yours as docs/adding-an-entity.md explains.")
    return 0


def new_entity(name: str) -> list[str]:
    """Writes and registers the files of a new entity; returns their paths. Changes nothing if it fails."""
    if not GUIDE.exists():
        raise Failed("there is no docs/adding-an-entity.md: run this command in a clone of the repository")
    names = Names(name)
    names.check()
    files = {names.path(path): names.source(text) for path, text in SOURCES.findall(GUIDE.read_text())}
    files |= {str(Path(path).parent / "__init__.py"): "" for path in files if path.startswith("tests/")}
    if existing := [path for path in files if (ROOT / path).exists()]:
        raise Failed(f"{', '.join(existing)} already exist: choose another name")
    changed = {"schema/build.py": _registered(names.plural)}
    before = {path: (ROOT / path).read_text() for path in [*changed, *GENERATED]}
    try:
        for path, text in (files | changed).items():
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_text(text)
        _format([*files, *changed])
        for path, command in GENERATED.items():
            (ROOT / path).write_text(_python("server.py", *command))
    except Failed:
        for path, text in before.items():
            (ROOT / path).write_text(text)
        for path in files:
            (ROOT / path).unlink(missing_ok=True)
        for folder in {(ROOT / path).parent for path in files}:
            shutil.rmtree(folder / "__pycache__", ignore_errors=True)
            if not any(folder.iterdir()):
                folder.rmdir()
        raise
    return [*files, *before]


class Names:
    """The forms of an entity's name, in place of those of the guide's entity."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.words = re.findall("[A-Z][a-z0-9]*", name)
        self.singular = "_".join(self.words).lower()
        self.plural = _plural(self.singular)

    def check(self) -> None:
        """Raises Failed unless the name is valid and free."""
        if "".join(self.words) != self.name or not re.fullmatch(f"[A-Z].{{0,{MOST_CHARACTERS - 1}}}", self.name):
            raise Failed(
                f"{self.name!r} is not a name for an entity: write it like Bookmark or ReadingList, "
                f"with at most {MOST_CHARACTERS} characters"
            )
        schema = build()._schema
        user = schema.type_map["User"]
        assert isinstance(user, GraphQLObjectType)
        if self.name in REGISTRY or self.name in schema.type_map or camel(self.plural) in user.fields:
            raise Failed(f"the schema already has {self.name} or User.{camel(self.plural)}: choose another name")

    def path(self, path: str) -> str:
        return path.replace("bookmarks", self.plural)

    def source(self, text: str) -> str:
        """Text between quotes is English or GraphQL; the rest is Python."""
        parts = LITERAL.split(text)
        return "".join(self._literal(part) if part.startswith('"') else self._python(part) for part in parts)

    def _literal(self, text: str) -> str:
        if "#{" in text:
            return self._python(text).replace("BOOKMARK", "".join(self.words).upper())
        if "{ " in text or re.fullmatch(r'"\w+"', text):
            return _renamed(text, camel(self.singular), camel(self.plural), self.name)
        english = " ".join(self.words).lower()
        return _renamed(text, english, _plural(english), english.capitalize())

    def _python(self, text: str) -> str:
        text = text.replace("bookmarkId", f"{camel(self.singular)}Id")
        return _renamed(text, self.singular, self.plural, self.name)


def _renamed(text: str, singular: str, plural: str, capitalized: str) -> str:
    text = text.replace("Bookmarks", _plural(capitalized)).replace("Bookmark", capitalized)
    return text.replace("bookmarks", plural).replace("bookmark", singular)


def _plural(text: str) -> str:
    if re.search("[^aeiou]y$", text):
        return f"{text[:-1]}ies"
    return f"{text}es" if re.search("(s|x|z|ch|sh)$", text) else f"{text}s"


def _registered(domain: str) -> str:
    """Returns schema/build.py with one more domain."""
    text = (ROOT / "schema/build.py").read_text()
    text = re.sub(r"(?m)^(from schema import \(?\s*)", rf"\1{domain}, ", text, count=1)
    return re.sub(r"(?m)^(DOMAINS = \([^)]*?),?(\s*)\)", rf"\1, {domain}\2)", text, count=1)


def _format(paths: list[str]) -> None:
    """Sorts imports and wraps lines, which depends on the name."""
    _python("-m", "ruff", "check", "--quiet", "--select", "I", "--fix", *paths)
    _python("-m", "ruff", "format", "--quiet", *paths)


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise Failed(f"nothing was written: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return done.stdout
