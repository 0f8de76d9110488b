"""GraphiQL in a real browser."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from schema.http import graphiql
from tests.schema.test_sse import sign_up
from tests.support.chromium import PHONE, chromium, complaints, needs_chromium
from tests.support.serving import PATIENCE, Served, until

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not graphiql.is_bundled(), reason="GraphiQL is not installed: npm install"),
]

QUERY, RESULT = ".graphiql-query-editor", ".result-window"
# GraphiQL looks for the names of operations a moment after the text has changed.
UNKNOWN_OPERATION = "there is no operation named"
# The editor of variables or of headers, whichever is shown.
TOOL = ".graphiql-editor-tool .graphiql-editor:not(.hidden)"
SIGN_UP = "mutation ($input: SignUpInput!) { signUp(input: $input) { token } }"
CREATE_POST = "mutation ($input: CreatePostInput!) { createPost(input: $input) { problems { code } } }"
TEXT = """
    const lines = [...document.querySelectorAll(arguments[0] + ' .view-line')];
    lines.sort((one, other) => parseInt(one.style.top) - parseInt(other.style.top));
    return lines.map((line) => line.textContent.replaceAll('\\u00a0', ' ')).join('\\n');
"""


class Browser:
    """Chromium on GraphiQL, used like a person would."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, url: str, **parameters: str) -> None:
        self.driver.get(f"{url}?{urlencode(parameters)}" if parameters else url)
        self.until(lambda: self.tabs() and self.text_of(QUERY))

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, holds: Any) -> Any:
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(lambda _: holds())

    def text_of(self, selector: str) -> str:
        return str(self.driver.execute_script(TEXT, selector))

    def tabs(self) -> list[str]:
        return [tab.text for tab in self.all(".graphiql-tab-button")]

    def active_tab(self) -> str:
        return str(self.all(".graphiql-tab-active .graphiql-tab-button")[0].text)

    def choose(self, tab: str) -> None:
        self.all(".graphiql-tab-button")[self.tabs().index(tab)].click()
        self.until(lambda: self.active_tab() == tab and f" {tab}" in self.text_of(QUERY))

    def write(self, selector: str, text: str) -> None:
        """Types text; the editor closes brackets automatically."""
        self.all(f"{selector} .view-lines")[0].click()
        keys = ActionChains(self.driver)
        keys.key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(Keys.DELETE, text).perform()

    def write_query(self, operation: str, query: str) -> None:
        """Types a query, and waits until GraphiQL has parsed it."""
        self.write(QUERY, query)
        self.until(lambda: self.active_tab() == operation)

    def run(self) -> str:
        """Presses the run button, even behind suggestions, and returns the response."""
        result = self.result_of(self.press_run)
        if UNKNOWN_OPERATION in result:
            result = self.result_of(self.press_run)
        return result

    def start(self, began: Callable[[], bool]) -> None:
        """Presses the run button for an operation that has no result yet, and waits until it has begun."""
        self.press_run()
        self.until(lambda: began() or UNKNOWN_OPERATION in self.text_of(RESULT))
        if not began():
            self.press_run()
            self.until(began)

    def press_run(self) -> None:
        self.driver.execute_script("document.querySelector('.graphiql-execute-button').click()")

    def stop(self) -> None:
        """Presses the button that ends a stream."""
        stop = self.all('.graphiql-execute-button[aria-label*="Stop"]')
        self.driver.execute_script("arguments[0].click()", stop[0])

    def press_ctrl_enter(self) -> str:
        self.all(f"{QUERY} .view-lines")[0].click()
        keys = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL)
        return self.result_of(keys.perform)

    def result_of(self, press: Callable[[], Any]) -> str:
        before = self.text_of(RESULT)
        press()
        self.until(lambda: self.text_of(RESULT) not in ("", before))
        return self.text_of(RESULT)

    def show(self, tool: str) -> None:
        """Shows the editor of variables or of headers."""
        self.all(f'button[data-name="{tool}"]')[0].click()

    def stored(self) -> dict[str, str]:
        """Returns everything the page has put into the browser's storage."""
        kept = self.driver.execute_script("return {...localStorage, ...sessionStorage}")
        return {str(name): str(value) for name, value in kept.items()}

    def complaints(self) -> list[str]:
        return complaints(self.driver)

    def is_covered(self, selector: str) -> bool:
        """Returns True if something else is in front of it, or if it is outside of the window."""
        script = """
            const one = document.querySelector(arguments[0]);
            const {left, top, width, height} = one.getBoundingClientRect();
            return !one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        """
        return bool(self.driver.execute_script(script, selector))

    def asked_hosts(self) -> set[str]:
        script = "return performance.getEntries().filter(e => e.initiatorType).map(e => new URL(e.name).host)"
        return set(self.driver.execute_script(script))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "profile") as driver:
        yield Browser(driver)


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "profile", PHONE) as driver:
        yield Browser(driver)


def test_a_person_looks_around_in_graphiql(browser: Browser, server: Served) -> None:
    browser.open(server.url)

    assert browser.driver.title == "Heartwood"
    assert browser.driver.current_url == f"{server.url}/graphql"
    assert browser.tabs() == [
        "Feed",
        "Live",
        "NewPosts",
        "Profile",
        "Home",
        "SignUp",
        "Neighborhoods",
        "Site",
        "Website",
        "History",
        "Cards",
        "Search",
        "Family",
    ]
    assert browser.text_of(QUERY).split() == graphiql.examples()[0]["query"].split()

    assert '"nodes": []' in browser.run()

    browser.choose("SignUp")
    assert '"problems": []' in browser.run()

    browser.choose("Feed")
    browser.write_query("Newcomer", 'query Newcomer { user(by: {username: "newcomer"}) { username ')
    assert json.loads(browser.run()) == {"data": {"user": {"username": "newcomer"}}}
    assert browser.tabs() == [
        "Newcomer",
        "Live",
        "NewPosts",
        "Profile",
        "Home",
        "SignUp",
        "Neighborhoods",
        "Site",
        "Website",
        "History",
        "Cards",
        "Search",
        "Family",
    ]

    assert browser.complaints() == []
    assert browser.asked_hosts() == {"{}:{}".format(*server.address)}


@pytest.mark.slow
def test_graphiql_knows_the_schema(browser: Browser, server: Served) -> None:
    browser.open(f"{server.url}/graphql")

    browser.all('button[aria-label="Show Documentation Explorer"]')[0].click()

    browser.until(lambda: "A GraphQL schema provides a root type" in browser.all(".graphiql-plugin")[0].text)
    assert "query: Query" in browser.all(".graphiql-plugin")[0].text
    assert browser.complaints() == []


def test_graphiql_keeps_no_token(browser: Browser, server: Served) -> None:
    browser.open(f"{server.url}/graphql")

    tabs = browser.tabs()
    browser.show("headers")
    browser.write(TOOL, '{"x-note": "the token"')
    browser.run()
    browser.write_query("Changed", "query Changed { viewer { id ")
    browser.run()
    browser.until(lambda: "Changed" in browser.stored().get("graphiql:tabState", ""))

    assert "Changed" in browser.stored()["graphiql:queries"]
    assert [name for name, value in browser.stored().items() if "the token" in value] == []
    assert "graphiql:headers" not in browser.stored()

    browser.driver.refresh()
    browser.until(lambda: browser.tabs())

    assert browser.tabs() == ["Changed", *tabs[1:]]
    browser.show("headers")
    browser.until(lambda: browser.all(f"{TOOL} .view-lines"))
    assert browser.text_of(TOOL) == ""
    assert browser.complaints() == []


@pytest.mark.slow
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


def test_a_link_fills_in_the_query(browser: Browser, server: Served) -> None:
    two = "query One { one: __typename } query Two($name: String!) { __type(name: $name) { name } }"
    link = {"query": two, "variables": '{"name": "Post"}', "operationName": "Two"}

    browser.open(f"{server.url}/graphql", **link)
    browser.until(lambda: browser.active_tab() == "Two")

    assert browser.text_of(QUERY) == two
    assert json.loads(browser.text_of(TOOL)) == {"name": "Post"}
    assert browser.tabs()[:2] == ["Two", "Feed"]
    assert browser.text_of(RESULT) == ""
    assert json.loads(browser.press_ctrl_enter()) == {"data": {"__type": {"name": "Post"}}}

    tabs = browser.tabs()
    browser.until(lambda: "Two" in browser.stored().get("graphiql:tabState", ""))
    browser.open(f"{server.url}/graphql", **link)
    assert browser.tabs() == tabs
    browser.open(f"{server.url}/graphql", query="query Another { __typename }")
    assert browser.tabs() == [*tabs, "Another"]
    assert (browser.active_tab(), browser.text_of(TOOL)) == ("Another", "")
    assert browser.complaints() == []


def test_a_link_runs_nothing_and_is_only_text(browser: Browser, server: Served) -> None:
    sign_up = 'signUp(input: {username: "linked", email: "linked@example.org", password: "a long secret"}) { token }'
    hostile = f"mutation Hostile {{ {sign_up} }} # </script><img src=x onerror=alert(1)>"

    browser.open(f"{server.url}/graphql", query=hostile, variables="not JSON <b>", headers='{"x-note": "1"}')
    browser.show("headers")
    browser.until(lambda: browser.all(f"{TOOL} .view-lines"))

    assert browser.text_of(QUERY) == hostile
    assert (browser.text_of(TOOL), browser.text_of(RESULT)) == ("", "")
    # The name is still free.
    answer = server.post(f"mutation {{ {sign_up.replace('token', 'problems { code }')} }}")
    assert answer.json() == {"data": {"signUp": {"problems": []}}}
    assert browser.complaints() == []


@pytest.mark.slow
def test_graphiql_fits_on_a_phone(phone: Browser, server: Served) -> None:
    phone.open(f"{server.url}/graphql")
    docs = 'button[aria-label$="Documentation Explorer"]'

    assert '"nodes": []' in phone.run()

    assert phone.driver.execute_script("return document.documentElement.scrollWidth") == 390
    for each in (".graphiql-execute-button", docs, 'button[data-name="headers"]', f"{RESULT} .view-line"):
        assert not phone.is_covered(each), each
    phone.all(docs)[0].click()
    phone.until(lambda: "A GraphQL schema provides a root type" in phone.all(".graphiql-plugin")[0].text)
    assert phone.is_covered(".graphiql-execute-button")
    phone.all(docs)[0].click()
    phone.until(lambda: not phone.is_covered(".graphiql-execute-button"))
    assert phone.complaints() == []


def test_graphiql_follows_a_live_query(browser: Browser, server: Served) -> None:
    browser.open(f"{server.url}/graphql")
    browser.write_query("People", "query People @live(throttle: 50) { users(first: 1) { nodes { username ")
    browser.run()
    sign_up(server, "follower")
    browser.until(lambda: '"username": "follower"' in browser.text_of(RESULT))
    sign_up(server, "leader")
    browser.until(lambda: '"username": "leader"' in browser.text_of(RESULT))

    browser.stop()
    until(lambda: 'heartwood_streams{transport="sse"} 0' in server.http.get("/metrics").text)
    assert browser.complaints() == []


def test_the_tabs_live_and_new_posts_follow_the_feed(browser: Browser, server: Served) -> None:
    given = {"username": "poet", "email": "poet@example.org", "password": "a long secret"}
    token = server.post(SIGN_UP, variables={"input": given}).json()["data"]["signUp"]["token"]

    def write_post(caption: str) -> None:
        post = {"imageUrl": "https://example.org/1.jpg", "caption": caption}
        answer = server.post(CREATE_POST, {"authorization": f"Bearer {token}"}, variables={"input": post}).json()
        assert answer == {"data": {"createPost": {"problems": []}}}

    browser.open(f"{server.url}/graphql")
    browser.choose("Live")
    assert '"nodes": []' in browser.run()
    write_post("An update of the live query")
    browser.until(lambda: "An update of the live query" in browser.text_of(RESULT))
    browser.stop()
    until(lambda: 'heartwood_streams{transport="sse"} 0' in server.http.get("/metrics").text)

    browser.choose("NewPosts")
    browser.start(lambda: bool(server.services.operations.subscriptions.watching))
    write_post("An event")
    browser.until(lambda: '"caption": "An event"' in browser.text_of(RESULT))
    assert 'heartwood_streams{transport="websocket"} 1' in server.http.get("/metrics").text
    write_post("Another event")
    browser.until(lambda: '"caption": "Another event"' in browser.text_of(RESULT))
    browser.stop()
    until(lambda: 'heartwood_streams{transport="websocket"} 0' in server.http.get("/metrics").text)

    # The query is not valid: the reason comes over WebSocket.
    browser.write_query("News", "subscription News { nothing ")
    assert '"code": "INVALID_QUERY"' in browser.run()
    assert browser.complaints() == []
