"""Runs code generators and client libraries against a live server with demo data: `make clients`."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from resolvers.demo.cms import TENANT
from tests.support.serving import Process, launched, until

HERE = Path(__file__).parent
GENERATED = HERE / "generated"
PROGRAMS = ("applications", "apollo", "urql", "relay", "live", "subscriptions", "incremental")
TOKEN = re.compile(r"Bearer ([\w.-]+)")


class Step(NamedTuple):
    """A command in this folder. `reports` is true if its output has a line for each check."""

    name: str
    command: tuple[str, ...]
    reports: bool = False


def node(program: str, *arguments: str) -> tuple[str, ...]:
    return f"node_modules/.bin/{program}", *arguments


def python(program: str, *arguments: str) -> tuple[str, ...]:
    return f".venv/bin/{program}", *arguments


STEPS = (
    Step(
        "graphql-eslint: Relay and naming rules for the schema, recommended rules for operations",
        node("eslint", "--max-warnings=0", "generated/schema.graphql", "operations"),
    ),
    Step("graphql-codegen: types from introspection", node("graphql-codegen", "--config", "codegen.yml")),
    Step("relay-compiler: connections, refetchable fragments, mutations", node("relay-compiler")),
    Step("tsc --strict: all operations and programs", node("tsc", "--project", ".")),
    Step(
        "esbuild: programs",
        node("esbuild", *(f"src/{name}.ts" for name in PROGRAMS), "--bundle", "--platform=node", "--format=esm",
             "--packages=external", "--outdir=generated/programs", "--out-extension:.js=.mjs", "--log-level=warning"),
    ),
    *(Step(name, ("node", f"generated/programs/{name}.mjs"), reports=True) for name in PROGRAMS),
    Step("ariadne-codegen: a typed client", python("ariadne-codegen", "--config", "ariadne-codegen.toml")),
    Step("mypy --strict: the typed client and its use", python("mypy", "--strict", "python", "generated/python")),
    Step("ariadne-codegen", python("python", "python/typed_client.py"), reports=True),
    Step("gql", python("python", "python/gql_client.py"), reports=True),
    Step("gql over WebSocket", python("python", "python/gql_live.py"), reports=True),
    Step("gql, subscriptions", python("python", "python/gql_subscriptions.py"), reports=True),
)  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, launched(DATA_DIR=folder) as server:
        variables = prepared(server)
        failed = [step.name for step in STEPS if not passes(step, variables)]
    print(f"{len(failed)} of {len(STEPS)} steps failed: {'; '.join(failed)}" if failed else "All clients work.")
    return 1 if failed else 0


def prepared(server: Process) -> dict[str, str]:
    """Downloads the schema; returns the environment variables that tell programs about the server."""
    until(lambda: TOKEN.search("".join(server.printed)))
    found = TOKEN.search("".join(server.printed))
    assert found
    shutil.rmtree(GENERATED, ignore_errors=True)
    (GENERATED / "relay").mkdir(parents=True)
    (GENERATED / "python").mkdir()
    (GENERATED / "schema.graphql").write_text(server.http.get("/schema.graphql").raise_for_status().text)
    return {
        "HEARTWOOD_URL": str(server.http.base_url.join("/graphql")),
        "HEARTWOOD_TOKEN": found[1],
        "HEARTWOOD_TENANT": TENANT,
        "PYTHONPATH": str(GENERATED / "python"),
        "MYPYPATH": str(GENERATED / "python"),
    }


def passes(step: Step, variables: Mapping[str, str]) -> bool:
    """Runs a step and prints its result, with the output if it fails or has the results of several checks."""
    done = subprocess.run(
        step.command,
        cwd=HERE,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if not step.reports:
        print(f"{'FAILED' if done.returncode else 'ok':7} {step.name}")
    if step.reports or done.returncode:
        print(done.stdout, end="")
    sys.stdout.flush()
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
