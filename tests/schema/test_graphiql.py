"""GraphiQL in a real browser."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from schema.http import graphiql
from tests.support.serving import PATIENCE, ROOT, Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.skipif(not CHROMIUM or not CHROMEDRIVER, reason="needs Chromium and chromedriver"),
    pytest.mark.skipif(not (ROOT / "node_modules/graphiql").exists(), reason="GraphiQL is not installed: npm install"),
]

OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
)


QUERY, RESULT = ".graphiql-query-editor", ".result-window"


class Browser:
    """Chromium on GraphiQL, used like a person would."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        self.driver.get(url)
        self.until(lambda: self.all(".graphiql-query-editor .CodeMirror"))

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, holds: Any) -> Any:
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(lambda _: holds())

    def editor(self, selector: str, expression: str) -> Any:
        return self.driver.execute_script(
            f"return document.querySelector('{selector} .CodeMirror').CodeMirror.{expression}"
        )

    def text_of(self, selector: str) -> str:
        """Returns all text: an editor renders only the visible part."""
        return str(self.editor(selector, "getValue()"))

    def tabs(self) -> list[str]:
        return [tab.text for tab in self.all(".graphiql-tab-button")]

    def choose(self, tab: str) -> None:
        self.all(".graphiql-tab-button")[self.tabs().index(tab)].click()
        self.until_read(tab)

    def write(self, query: str) -> None:
        """Types text; the editor closes brackets automatically."""
        self.all(".graphiql-query-editor .CodeMirror-lines")[0].click()
        keys = ActionChains(self.driver)
        keys.key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(Keys.DELETE, query).perform()

    def until_read(self, operation: str) -> None:
        """Waits until GraphiQL has parsed the changed text."""
        self.until(lambda: self.editor(QUERY, "operationName") == operation)

    def run(self) -> str:
        """Presses the run button and returns the response."""
        before = self.text_of(RESULT)
        self.all(".graphiql-execute-button")[0].click()
        self.until(lambda: self.text_of(RESULT) not in ("", before))
        return self.text_of(RESULT)

    def send_headers(self, text: str) -> None:
        """Puts text into the editor of headers."""
        self.all('button[data-name="headers"]')[0].click()
        self.driver.execute_script(
            "document.querySelectorAll('.graphiql-editor-tool .CodeMirror')[1].CodeMirror.setValue(arguments[0])", text
        )

    def headers(self) -> str:
        script = "return document.querySelectorAll('.graphiql-editor-tool .CodeMirror')[1].CodeMirror.getValue()"
        return str(self.driver.execute_script(script))

    def stored(self) -> dict[str, str]:
        """Returns everything the page has put into the browser's storage."""
        kept = self.driver.execute_script("return {...localStorage, ...sessionStorage}")
        return {str(name): str(value) for name, value in kept.items()}

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def asked_hosts(self) -> set[str]:
        script = "return performance.getEntries().filter(e => e.initiatorType).map(e => new URL(e.name).host)"
        return set(self.driver.execute_script(script))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    options = Options()
    options.binary_location = str(CHROMIUM)
    for option in (*OPTIONS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(CHROMEDRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


def test_a_person_looks_around_in_graphiql(browser: Browser, server: Served) -> None:
    browser.open(server.url)

    assert browser.driver.title == "Heartwood"
    assert browser.driver.current_url == f"{server.url}/graphql"
    assert browser.tabs() == [
        "Feed",
        "Profile",
        "Home",
        "SignUp",
        "Neighborhoods",
        "Site",
        "Website",
        "Cards",
        "Family",
    ]
    assert browser.text_of(QUERY) == graphiql.examples()[0]["query"]

    assert '"nodes": []' in browser.run()

    browser.choose("SignUp")
    assert '"problems": []' in browser.run()

    browser.choose("Feed")
    browser.write('query Newcomer { user(by: {username: "newcomer"}) { username ')
    browser.until_read("Newcomer")
    assert json.loads(browser.run()) == {"data": {"user": {"username": "newcomer"}}}
    assert browser.tabs() == [
        "Newcomer",
        "Profile",
        "Home",
        "SignUp",
        "Neighborhoods",
        "Site",
        "Website",
        "Cards",
        "Family",
    ]

    assert browser.complaints() == []
    assert browser.asked_hosts() == {"{}:{}".format(*server.address)}


def test_graphiql_knows_the_schema(browser: Browser, server: Served) -> None:
    browser.open(f"{server.url}/graphql")

    browser.all('button[aria-label="Show Documentation Explorer"]')[0].click()

    browser.until(lambda: "A GraphQL schema provides a root type" in browser.all(".graphiql-plugin")[0].text)
    assert "query: Query" in browser.all(".graphiql-plugin")[0].text
    assert browser.complaints() == []


def test_graphiql_keeps_no_token(browser: Browser, server: Served) -> None:
    browser.open(f"{server.url}/graphql")

    tabs = browser.tabs()
    browser.send_headers('{"x-note": "the token"}')
    browser.run()
    browser.write("query Changed { viewer { id ")
    browser.until_read("Changed")
    browser.run()
    browser.until(lambda: "Changed" in browser.stored().get("graphiql:tabState", ""))

    assert "Changed" in browser.stored()["graphiql:queries"]
    assert [name for name, value in browser.stored().items() if "the token" in value] == []
    assert "graphiql:headers" not in browser.stored()

    browser.driver.refresh()
    browser.until(lambda: browser.tabs())

    assert browser.tabs() == ["Changed", *tabs[1:]]
    assert browser.headers() == ""
    assert browser.complaints() == []


def test_graphiql_removes_the_tokens_that_earlier_versions_kept(browser: Browser, server: Served) -> None:
    browser.driver.get(f"{server.url}/healthz")
    empty = dict.fromkeys(("variables", "operationName", "response"))
    tab: dict[str, Any] = {"id": "1", "title": "Mine", "query": "query Mine { viewer { id } }", **empty}
    tab |= {"headers": "the token", "hash": "the token"}
    run = {"query": "query Run { viewer { id } }", "headers": "the token"}
    kept = {
        "graphiql:query": tab["query"],
        "graphiql:headers": "the token",
        "graphiql:shouldPersistHeaders": "true",
        "graphiql:tabState": json.dumps({"activeTabIndex": 0, "tabs": [tab]}),
        "graphiql:queries": json.dumps({"queries": [run]}),
        "graphiql:favorites": "not what it was: the token",
    }
    for name, value in kept.items():
        browser.driver.execute_script("localStorage.setItem(arguments[0], arguments[1])", name, value)

    browser.open(f"{server.url}/graphql")

    assert browser.tabs() == ["Mine"]
    assert "query Run" in browser.stored()["graphiql:queries"]
    assert [name for name, value in browser.stored().items() if "the token" in value] == []


@pytest.mark.parametrize("place", range(len(graphiql.examples())))
def test_every_example_is_valid(server: Served, place: int) -> None:
    example = graphiql.examples()[place]

    headers, variables = (json.loads(example[name] or "{}") for name in ("headers", "variables"))
    answer = server.post(example["query"], headers=headers, variables=variables)

    assert "errors" not in answer.json()
