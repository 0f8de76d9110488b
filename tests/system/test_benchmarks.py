"""Every benchmark runs in its shortest form, so that none rots; and the parts of the harness that compute."""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import history, results
from benchmarks.peers.popularity import popular, popular_set, zipf
from datastore.local import engine
from tests.support.serving import ROOT, environment

PEERS = ROOT / "benchmarks/peers"
# Benchmarks with budgets exit with 1 if one is not met, which says nothing on a machine that runs tests.
BUDGETS = {"chaos", "hostile_documents", "observability"}
SHORTEST = {
    "backup": ["--items", "500"],
    "cache": ["--quick"],
    "changes": ["--rate", "20", "--seconds", "1", "--stop", "100", "--faults", "100"],
    "check": ["--items", "3000"],
    "chaos": ["--quick", "--only", "idempotent_retries"],
    "event_loop": ["--people", "30", "--only", "chart"],
    "execution": ["--rounds", "1", "--runs", "2"],
    "field_errors": ["--rounds", "1"],
    "history": [],
    "home_feed": ["--people", "5", "--merged", "1", "--followers", "3"],
    "hostile_documents": ["--documents", "20", "--only", "wrong"],
    "live": ["--quick"],
    "load_cards": ["CARDS"],
    "load_social": [],
    "monthly_cost": [],
    "observability": ["--requests", "2", "--rounds", "1"],
    "overload": ["--seconds", "0.5", "--levels", "1"],
    "peers": ["--quick", "--seconds", "0.05", "--scenarios", "8", "distinct"],
    "replay_revisions": ["REVISIONS"],
    "retries": ["--wanted", "4", "--at-once", "2", "--deadline", "1"],
    "scale": ["--small", "2500", "--large", "3000", "--rounds", "1"],
    "search": ["CARDS"],
    "startup": ["--rounds", "1", "--no-instructions"],
    "transport": ["--rounds", "1", "--calls", "4"],
    "workers": ["--rounds", "1", "--seconds", "0.3"],
}
NEED_PEERS = {"execution", "peers"}
NEED_PACKAGES = {
    "chaos": "psutil",
    "event_loop": "psutil",
    "peers": "psutil",
    "scale": "psutil",
    "startup": "psutil",
    "workers": "psutil",
}
SECONDS = 300

RECIPE = """---
title: Toast
tags: [bread]
author: Somebody
---
- Prep time: 5 min

## Ingredients

- bread

## Directions

1. Toast the bread.
"""


def needed(name: str) -> str | None:
    """Returns what a benchmark needs that is not installed."""
    if engine.dynoxide() is None:
        return "the local engine is not installed: npm install"
    if name in NEED_PEERS and not (shutil.which("node") and (PEERS / "node_modules").exists()):
        return "the peers are not installed: npm ci, in benchmarks/peers"
    package = NEED_PACKAGES.get(name)
    if package and importlib.util.find_spec(package) is None:
        return f"{package} is not installed: make bench"
    return None


def samples(folder: Path) -> dict[str, str]:
    """Writes small files for the benchmarks that need data; returns their paths."""
    recipes = folder / "recipes"
    recipes.mkdir()
    (recipes / "toast.md").write_text(RECIPE)
    (folder / "shopify-categories.txt").write_text("c/1 : Food\nc/2 : Food > Bread\n")
    page = {"path": "content/toast.md", "author": "somebody", "ts": 0}
    rows = [
        {**page, "version": 1, "op": "create", "message": "first", "body": "Toast the bread."},
        {**page, "version": 2, "op": "update", "message": "second", "body": "Toast the bread twice."},
        {**page, "version": 3, "op": "delete", "message": "last", "body": None},
    ]
    revisions = folder / "revisions.jsonl"
    revisions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"CARDS": str(folder), "REVISIONS": str(revisions)}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORTEST)
def test_a_benchmark_runs(name, tmp_path):
    if reason := needed(name):
        pytest.skip(reason)
    paths = samples(tmp_path)
    command = [sys.executable, "-m", f"benchmarks.{name}", *(paths.get(option, option) for option in SHORTEST[name])]
    own = environment(DATA_DIR=str(tmp_path / "data"))
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=SECONDS)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in ({0, 1} if name in BUDGETS else {0}), done.stdout + done.stderr


def test_every_benchmark_has_a_shortest_form():
    folder = ROOT / "benchmarks"
    files = [*folder.glob("*.py"), *folder.glob("*/__main__.py")]
    commands = {
        path.parent.name if path.stem == "__main__" else path.stem
        for path in files
        if 'if __name__ == "__main__":' in path.read_text()
    }
    # benchmarks.event_loop starts the probe.
    assert commands == {*SHORTEST, "loop_probe"}


def test_the_second_of_the_popular_is_chosen_half_as_often_as_the_first():
    assert zipf(3) == pytest.approx([6 / 11, 9 / 11, 1])
    counts = Counter(popular("abc", 11_000, random.Random(1)))
    assert [round(counts[each] / 1_000) for each in "abc"] == [6, 3, 2]


def test_a_popular_set_has_no_duplicates():
    chosen = popular_set(range(100), 50, random.Random(1))
    assert len(set(chosen)) == len(chosen) == 50


def test_the_history_has_one_entry_for_a_commit_and_marks_what_is_worse(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    monkeypatch.setattr(results, "measured", lambda: {"commit": "aaa-dirty", "date": "2026-01-01", "code": "1"})
    history.remember({"peers": {"feed": 0.25}})
    history.remember({"execution": {"÷ graphql-jit": 2.0}})
    monkeypatch.setattr(results, "measured", lambda: {"commit": "bbb", "date": "2026-01-02", "code": "2"})
    history.remember({"peers": {"feed": 0.5}, "execution": {"÷ graphql-jit": 2.1}})
    assert [entry["commit"] for entry in results.kept_list("history")] == ["aaa", "bbb"]
    assert history.render(results.kept_list("history")).splitlines() == [
        "|  | 2026-01-01 aaa | 2026-01-02 bbb |",
        "| --- | ---: | ---: |",
        "| execution: ÷ graphql-jit | 2 | 2.1 |",
        "| peers: feed | 0.25 | 0.5 ▲ |",
    ]
