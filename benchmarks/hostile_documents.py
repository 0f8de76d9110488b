"""Measures the CPU of hostile documents and variables until they run, and the memory that unique documents leave.

Each kind is as large as the limits let it be, and larger. The worst comes first.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphql.execution.values import VariableValues

from schema.build import build
from schema.execution.documents import Documents
from schema.execution.limits import Limits, OverLimit, check_json

# The most CPU that a document may cost, and the most memory that unique documents may leave.
MILLISECONDS = 100
MEGABYTES = 60
SIZES = (50, 100, 200, 300, 400, 500, 700, 1_000, 1_300, 1_900, 3_900)


def many(count: int, part: Callable[[int], str]) -> str:
    return " ".join(map(part, range(count)))


def doubling(count: int) -> str:
    parts = many(count, lambda n: f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}")
    return f"{{ ...F0 }} {parts} fragment F{count} on Query {{ __typename }}"


def doubling_through_fields(count: int) -> str:
    parts = many(
        count, lambda n: f"fragment F{n} on User {{ a: author {{ ...F{n + 1} }} b: author {{ ...F{n + 1} }} }}"
    )
    return f"{{ viewer {{ ...F0 }} }} {parts} fragment F{count} on User {{ id }}"


def crossed(count: int) -> str:
    """Fragments that all spread one another."""
    side = max(2, int(count**0.5))
    return "{ ...F0 } " + many(
        side,
        lambda n: f"fragment F{n} on Query {{ viewer {{ id }} {many(side - n - 1, lambda m: f'...F{n + m + 1}')} }}",
    )


KINDS: dict[str, Callable[[int], str]] = {
    "one field, repeated": lambda n: "{ " + "__typename " * n + "}",
    "aliases of a leaf": lambda n: "{ " + many(n, lambda i: f"a{i}: __typename") + " }",
    "aliases of a stored field": lambda n: "{ viewer { " + many(n, lambda i: f"a{i}: id") + " } }",
    "aliases of a page": lambda n: "{ " + many(n, lambda i: f"a{i}: users(first: 1) {{ nodes {{ id }} }}") + " }",
    "one page, repeated": lambda n: "{ " + many(n, lambda _: "users(first: 1) { nodes { id } }") + " }",
    "one object, repeated and nested": lambda n: "{ " + many(n, lambda _: "viewer { posts { nodes { id } } }") + " }",
    "conflicting aliases": lambda n: "{ viewer { " + many(n, lambda i: f"a: {('id', 'bio', 'email')[i % 3]}") + " } }",
    "conflicting arguments": lambda n: "{ " + many(n, lambda i: f"users(first: {i + 1}) {{ nodes {{ id }} }}") + " }",
    "unknown fields": lambda n: "{ " + many(n, lambda i: f"usersByNam{i}") + " }",
    "unknown fields of objects": lambda n: "{ viewer { " + many(n, lambda i: f"displayNam{i} {{ x }}") + " } }",
    "unknown arguments": lambda n: "{ users(" + many(n, lambda i: f"firs{i}: 1") + ") { nodes { id } } }",
    "unknown directives": lambda n: "{ __typename " + many(n, lambda i: f"@includ{i}(if: true)") + " }",
    "repeated directives": lambda n: "{ __typename " + "@include(if: true) " * n + " }",
    "unknown fragments": lambda n: "{ " + many(n, lambda i: f"...F{i}") + " }",
    "unused fragments": lambda n: "{ __typename } " + many(n, lambda i: f"fragment F{i} on Query {{ __typename }}"),
    "unknown types": lambda n: "{ __typename " + many(n, lambda i: f"... on Use{i} {{ id }}") + " }",
    "fragments on leaves": lambda n: "{ __typename " + many(n, lambda _: "... on String { id }") + " }",
    "impossible fragments": lambda n: "{ __typename " + many(n, lambda _: "... on User { id }") + " }",
    "inline fragments side by side": lambda n: "{ " + "... { __typename } " * n + "}",
    "spreads side by side": lambda n: "{ " + "...F " * n + "} fragment F on Query { viewer { id } }",
    "distinct spreads": lambda n: (
        "{ "
        + many(n, lambda i: f"...F{i}")
        + " } "
        + many(n, lambda i: f"fragment F{i} on Query {{ viewer {{ id }} }}")
    ),
    "distinct spreads of conflicts": lambda n: (
        "{ "
        + many(n, lambda i: f"...F{i}")
        + " } "
        + many(n, lambda i: f"fragment F{i} on Query {{ x: users(first: {i}) {{ nodes {{ id }} }} }}")
    ),
    "fragments that double one another": doubling,
    "fragments that double through fields": doubling_through_fields,
    "fragments that spread one another": crossed,
    "a chain of fragments": lambda n: (
        "{ ...F0 } "
        + many(n, lambda i: f"fragment F{i} on Query {{ ...F{i + 1} }}")
        + f" fragment F{n} on Query {{ __typename }}"
    ),
    "a circle of fragments": lambda n: (
        "{ ...F0 } " + many(n, lambda i: f"fragment F{i} on Query {{ ...F{(i + 1) % n} }}")
    ),
    "fragments in all circles": lambda n: (
        "{ ...F0 } "
        + many(
            int(n**0.5), lambda i: f"fragment F{i} on Query {{ {many(int(n**0.5), lambda j: f'...F{j}')} __typename }}"
        )
    ),
    "operations": lambda n: many(n, lambda i: f"query Q{i} {{ __typename }}"),
    "anonymous operations": lambda n: "{ __typename } " * n,
    "operations that share fragments": lambda n: (
        many(n // 2, lambda i: f"query Q{i} {{ ...F0 }}")
        + many(n // 2, lambda i: f" fragment F{i} on Query {{ ...F{i + 1} viewer {{ id }} }}")
        + f" fragment F{n // 2} on Query {{ __typename }}"
    ),
    "unused variables": lambda n: "query (" + many(n, lambda i: f"$v{i}: Int") + ") { __typename }",
    "undefined variables": lambda n: "{ nodes(ids: [" + many(n, lambda i: f"$v{i}") + "]) { id } }",
    "undefined variables of many operations": lambda n: (
        many(n // 2, lambda i: f"query Q{i} {{ ...F }}")
        + " fragment F on Query { nodes(ids: ["
        + many(n // 2, lambda i: f"$v{i}")
        + "]) { id } }"
    ),
    "misplaced variables": lambda n: "query ($v: Int) { " + many(n, lambda i: f"a{i}: node(id: $v) {{ id }}") + " }",
    "variables of unknown types": lambda n: "query (" + many(n, lambda i: f"$v{i}: Use{i}") + ") { __typename }",
    "invalid values": lambda n: "{ nodes(ids: [" + "{} " * n + "]) { id } }",
    "values of the wrong scalar": lambda n: "{ nodes(ids: [" + "1.5 " * n + "]) { id } }",
    "invalid enum values": lambda n: (
        "{ " + many(n, lambda i: f"a{i}: builds(status: QUEUE{i}) {{ nodes {{ id }} }}") + " }"
    ),
    "unknown input fields": lambda n: (
        "mutation { createPost(input: {" + many(n, lambda i: f"captio{i}: 1") + "}) { post { id } } }"
    ),
    "repeated input fields": lambda n: "mutation { createPost(input: {" + "caption: 1 " * n + "}) { post { id } } }",
    "a long list of IDs": lambda n: "{ nodes(ids: [" + '"x" ' * n + "]) { id } }",
    "lists in lists": lambda n: "{ nodes(ids: " + "[" * n + "]" * n + ") { id } }",
    "deep selections": lambda n: "{ " + "viewer { " * n + "id" + " }" * n + " }",
    "deep inline fragments": lambda n: "{ " + "... { " * n + "__typename" + " }" * n + " }",
    "missing selections": lambda n: "{ " + many(n, lambda i: f"a{i}: viewer") + " }",
    "selections of leaves": lambda n: "{ viewer { " + many(n, lambda i: f"a{i}: id {{ x }}") + " } }",
    "aliases of __schema": lambda n: (
        "{ " + many(n, lambda i: f"a{i}: __schema {{ types {{ fields {{ name }} }} }}") + " }"
    ),
    "aliases of mutationType": lambda n: (
        "{ " + many(n, lambda i: f"a{i}: __schema {{ mutationType {{ fields {{ name args {{ name }} }} }} }}") + " }"
    ),
    "introspection in circles": lambda n: (
        "{ " + many(n, lambda i: f"a{i}: __schema {{ types {{ ...T }} }}") + " } "
        "fragment T on __Type { fields { type { fields { type { fields { name } } } } } }"
    ),
    "mutations": lambda n: (
        "mutation { " + many(n, lambda i: f"a{i}: likePost(input: {{postId: 1}}) {{ post {{ id }} }}") + " }"
    ),
    "comments": lambda n: "{ __typename } " + "# x\n" * n,
    "a syntax error at the end": lambda n: "{ " + "__typename " * n,
    "one long name": lambda n: "{ " + "x" * 20 * n + " }",
    "one long text": lambda n: '{ node(id: "' + "\\u00e9" * 3 * n + '") { id } }',
    "a block text": lambda n: '{ node(id: """' + "\n x" * 6 * n + '""") { id } }',
}


# Values in variables: at the limit, and what fits into a body of 1 MB.
COUNTS = (19_990, 400_000)
CREATE_CARD = "mutation ($input: CreateCardInput!) { createCard(input: $input) { problems { message } } }"
CARD = {"title": "A card", "categoryId": "x", "difficulty": "BEGINNER"}
VARIABLES: dict[str, Callable[[int], Any]] = {
    "variables: values of the wrong type": lambda n: {"tags": [1] * n},
    "variables: valid values": lambda n: {**CARD, "tags": ["x"] * n},
    "variables: a wrong value at the end": lambda n: {**CARD, "tags": ["x"] * (n - 1) + [1]},
    "variables: unknown fields": lambda n: {f"tag{number}": 1 for number in range(n)},
    "variables: empty objects": lambda n: {**CARD, "materials": {"x": [{} for _ in range(n)]}},
    "variables: lists in lists": lambda n: {**CARD, "tags": [["x"] for _ in range(n // 2)]},
}


def worst_of_variables(kind: str, limits: Limits) -> tuple[float, int, str, float]:
    """Returns the most milliseconds of checking and coercing variables, the count, the outcome, and the same again."""
    (operation,) = Documents(build()._schema, limits).prepare(CREATE_CARD).operations
    found = (0.0, 0, "", 0.0)
    for count in COUNTS:
        given = {"input": VARIABLES[kind](count)}
        times = []
        for _ in range(2):
            gc.collect()
            started = time.process_time()
            try:
                check_json(given, limits)
                outcome = "invalid" if isinstance(operation.variables.coerced(given), list) else "accepted"
            except OverLimit:
                outcome = "refused"
            times.append((time.process_time() - started) * 1_000)
        found = max(found, (min(times), count, outcome, times[1]))
    return found


def milliseconds(documents: Documents, query: str, limits: Limits) -> float:
    started = time.process_time()
    prepare(documents, query, limits)
    return (time.process_time() - started) * 1_000


def prepare(documents: Documents, query: str, limits: Limits) -> str:
    """Returns the outcome of the document."""
    try:
        prepared = documents.prepare(query)
        for operation in prepared.operations[:1]:
            operation.cost(build()._schema, {}, limits)
        documents.validate(prepared)
    except OverLimit:
        return "refused"
    if prepared.over_limit:
        return "refused"
    return "accepted" if prepared.validated else "invalid"


def worst(kind: str, limits: Limits) -> tuple[float, int, str, float]:
    """Returns the most milliseconds of a kind, the size, the outcome, and the milliseconds of repeating it."""
    found = (0.0, 0, "", 0.0)
    for size in SIZES:
        query = KINDS[kind](size)
        documents = Documents(build()._schema, limits)
        gc.collect()
        once = milliseconds(documents, query, limits)
        if once > MILLISECONDS:
            # A second opinion: other processes use the caches of this machine too.
            once = min(once, milliseconds(Documents(build()._schema, limits), query, limits))
        again = milliseconds(documents, query, limits)
        if once > found[0]:
            found = (once, size, prepare(documents, query, limits), again)
    return found


def resident() -> float:
    """Returns the memory of this process in megabytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1_000


def unique(number: int) -> str:
    """Returns a valid document of a usual size that is unlike all others."""
    return f"""query Page{number} {{ feed(first: 20) {{ nodes {{ a{number}: id caption imageUrl createdAt likeCount
        author {{ id username displayName }} comments(first: 5) {{ nodes {{ id content author {{ username }} }} }} }}
        pageInfo {{ hasNextPage endCursor }} }} }}"""


def growth(count: int, limits: Limits) -> float:
    """Returns the megabytes that so many unique documents leave: half of them valid, with their plans."""
    documents = Documents(build()._schema, limits)
    no_variables = VariableValues({}, {})
    gc.collect()
    before = resident()
    for number in range(count):
        prepared = documents.prepare(unique(number))
        documents.validate(prepared)
        prepared.operations[0].plan(build()._schema, no_variables)
        documents.keep(prepared)
        prepare(documents, unique(number).replace("caption", f"captio{number}"), limits)
    gc.collect()
    return resident() - before


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.hostile_documents", description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000, help="unique valid documents (10,000)")
    parser.add_argument("--only", help="only kinds whose name contains this")
    arguments = parser.parse_args()
    limits = Limits()
    prepare(Documents(build()._schema, limits), "{ viewer { id } }", limits)
    kinds = [kind for kind in KINDS if (arguments.only or "") in kind]
    measured = [(*worst(kind, limits), kind) for kind in kinds]
    measured += [(*worst_of_variables(kind, limits), kind) for kind in VARIABLES if (arguments.only or "") in kind]
    found = sorted(measured, reverse=True)
    print(f"| {'document':40} |    size | outcome  | CPU, ms | repeated, ms |\n|---|---:|---|---:|---:|")
    for once, size, outcome, again, kind in found:
        print(f"| {kind:40} | {size:7,} | {outcome:8} | {once:7.1f} | {again:7.2f} |")
    left = growth(arguments.documents, limits)
    print(f"\n{arguments.documents:,} unique valid documents and as many invalid ones leave {left:.0f} MB")
    return 0 if found[0][0] <= MILLISECONDS and left <= MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
