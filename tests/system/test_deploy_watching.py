"""The dashboard and the alert rules of deploy/: every metric they name exists."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from server import COMMANDS
from tests.support.serving import ROOT, serving

RULES = ROOT / "deploy/prometheus/alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/dashboard.json"
NAME = re.compile(r"heartwood_[a-z_]+")
SUFFIXES = ("_bucket", "_count", "_sum")


def declared() -> set[str]:
    """Returns the names of all metrics, as the code that writes them spells them."""
    files = [*(ROOT / "schema").rglob("*.py"), *(ROOT / "resolvers").rglob("*.py")]
    spelled = re.compile(r'(?:_?family|histogram)\(\s*"([a-z_]+)"')
    found = {name for path in files for name in spelled.findall(path.read_text())}
    # Those that a loop writes.
    found |= set(re.findall(r'\("([a-z]+_[a-z_]+_total)", "', (ROOT / "schema/http/metrics.py").read_text()))
    return {f"heartwood_{name}" for name in found}


def rules() -> list[dict[str, object]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def queries() -> Iterator[str]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


def named(expressions: Iterator[str]) -> set[str]:
    found = {name for expression in expressions for name in NAME.findall(expression)}
    return {next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name) for name in found}


def test_the_metrics_of_a_server_are_all_found(endpoint: str, table_name: str) -> None:

    with serving(endpoint, table_name) as server:
        shown = set(re.findall(r"# TYPE (\S+)", server.http.get("/metrics").text))
    assert shown <= declared()
    # Without a stream and a cache, these have no values.
    optional = ("heartwood_stream_", "heartwood_cache_")
    assert {name for name in declared() - shown if not name.startswith(optional)} == set()


def test_every_metric_of_an_alert_exists() -> None:
    assert named(str(rule["expr"]) for rule in rules()) - declared() == set()


def test_every_metric_of_the_dashboard_exists() -> None:
    assert named(queries()) - declared() == set()


def test_every_metric_is_documented() -> None:
    page = (ROOT / "docs/operating.md").read_text()
    documented = {f"heartwood_{name.removeprefix('heartwood_')}" for name in re.findall(r"`([a-z_]+)`", page)}
    assert declared() - documented == set()


def test_every_alert_says_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
        assert {*rule["annotations"]} == {"summary", "action"}, rule["alert"]


def test_commands_of_alerts_exist() -> None:

    assert {*re.findall(r"`heartwood (\w+)", RULES.read_text())} <= {*COMMANDS}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed: apt install prometheus")
def test_promtool_accepts_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
