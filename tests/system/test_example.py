"""The example front end in a real browser, against a server with demo data."""

import fcntl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from selenium import webdriver
from selenium.common import StaleElementReferenceException, TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from datastore.local import engine
from tests.support.chromium import PHONE, chromium, complaints, needs_chromium
from tests.support.serving import PATIENCE, ROOT, environment, free_port, launched, until

WEB = ROOT / "examples/web"
BIN = WEB / "node_modules/.bin"

pytestmark = [
    pytest.mark.slow,
    needs_chromium,
    pytest.mark.skipif(engine.dynoxide() is None, reason="the local engine is not installed: npm install"),
    pytest.mark.skipif(not BIN.exists(), reason="the example is not installed: npm install, in examples/web"),
]

# Holds the requests of the page back until RELEASE, so that it cannot show an answer of the server before.
HOLD = """
    const send = window.fetch; window.held = []; window.answered = 0
    window.fetch = (...request) => new Promise(resolve => window.held.push(() => resolve(
        send(...request).finally(() => window.answered++))))
"""
RELEASE = "return window.held.splice(0).map(send => send()).length"


class Browser:
    """Chromium on the example, used like a person would."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, path: str) -> None:
        self.driver.get(self.url + path)

    def until(self, holds: Any) -> Any:
        waiting = WebDriverWait(
            self.driver, PATIENCE, poll_frequency=0.05, ignored_exceptions=[StaleElementReferenceException]
        )
        return waiting.until(lambda _: holds())

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [element.text for element in self.all(selector)]

    def until_shown(self, selector: str, *texts: str) -> None:
        """Waits until these elements, and no others, have these texts."""
        with suppress(TimeoutException):
            self.until(lambda: self.texts(selector) == list(texts))
        assert self.texts(selector) == list(texts)

    def click(self, name: str, within: str = "body") -> None:
        """Clicks the first button or link with this text."""
        path = f".//*[self::a or self::button][normalize-space()='{name}' or span='{name}']"
        self.until(lambda: self.all(within) and self.all(within)[0].find_elements(By.XPATH, path))[0].click()

    def write(self, selector: str, text: str) -> None:
        field = self.all(selector)[0]
        field.clear()
        field.send_keys(text)

    def accessibility_violations(self) -> list[str]:
        """Returns the rules of axe-core that the page breaks, with the elements that break them."""
        self.driver.execute_script((WEB / "node_modules/axe-core/axe.min.js").read_text())
        found = self.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
        return [f"{rule['id']}: {node['html']}" for rule in found["violations"] for node in rule["nodes"]]

    def is_drawn(self, alternative_text: str) -> bool:
        images = self.all(f"img[alt='{alternative_text}']")
        return bool(images and self.driver.execute_script("return arguments[0].naturalWidth > 0", images[0]))

    def is_wider_than_the_screen(self) -> bool:
        return bool(self.driver.execute_script("return document.documentElement.scrollWidth > innerWidth"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Builds the example, and serves it with a proxy to a new server."""
    data, built = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("built")
    build(built)
    with launched(DATA_DIR=str(data)) as server:
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        process = subprocess.Popen(
            [BIN / "vite", "preview", "--outDir", built, "--host", "127.0.0.1", "--port", str(port)],
            cwd=WEB,
            env=environment(HEARTWOOD_URL=str(server.http.base_url).rstrip("/")),
        )
        try:
            until(lambda: answers(address) or process.poll() is not None)
            yield address
        finally:
            process.terminate()
            process.wait(PATIENCE)


def build(built: Path) -> None:
    with (WEB / "package.json").open() as one_at_a_time:
        # The workers of pytest share the generated types in src/gql.
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        for program, *arguments in (("graphql-codegen", "--silent"), ("tsc",), ("vite", "build", "--outDir", built)):
            subprocess.run([BIN / program, *arguments], cwd=WEB, check=True, timeout=PATIENCE)


def answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def browser(url: str, tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "profile") as driver:
        yield Browser(driver, url)


@pytest.fixture
def phone(url: str, tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "phone", PHONE) as driver:
        yield Browser(driver, url)


def test_a_like_in_one_window_moves_the_count_in_another(browser: Browser, phone: Browser) -> None:
    for window in (browser, phone):
        window.open("/")
        window.until(lambda window=window: len(window.texts(".like")) == 5)
    assert phone.texts(".like")[1] == "♡ 1 like"
    browser.click("Sign in")
    browser.write("input[type=password]", "heartwood demo")
    browser.click("Sign in", within="form")
    browser.until(lambda: len(browser.texts(".like")) == 5)

    browser.all(".like")[1].click()
    phone.until(lambda: phone.texts(".like")[1] == "♡ 2 likes")
    browser.all(".like")[1].click()
    phone.until(lambda: phone.texts(".like")[1] == "♡ 1 like")


def test_a_person_uses_the_example(browser: Browser) -> None:
    browser.open("/")
    browser.until_shown(".like", "♡ 1 like", "♡ 1 like", "♡ 4 likes", "♡ 3 likes", "♡ 5 likes")
    assert browser.accessibility_violations() == []
    browser.click("Load more")
    browser.until(lambda: len(browser.all("article")) == 10)
    assert browser.texts("button.more") == []

    browser.click("Sign in")
    browser.write("input[type=password]", "not the password")
    browser.click("Sign in", within="form")
    browser.until_shown("[role=alert]", "INVALID the name or the password is wrong")
    assert browser.accessibility_violations() == []
    browser.write("input[type=password]", "heartwood demo")
    browser.click("Sign in", within="form")
    browser.until_shown("nav .user", "ML\nMaya Lindqvist")

    browser.driver.execute_script(HOLD)
    browser.click("♡ 1 like")
    browser.until(lambda: browser.texts(".like")[0] == "♥ 2 likes")
    browser.until(lambda: browser.driver.execute_script(RELEASE) == 1)
    browser.until(lambda: browser.driver.execute_script("return window.answered === 1"))
    assert browser.texts(".like")[0] == "♥ 2 likes"
    browser.driver.refresh()
    browser.until(lambda: browser.texts(".like")[:1] == ["♥ 2 likes"])
    browser.click("♥ 2 likes")
    browser.until(lambda: browser.texts(".like")[0] == "♡ 1 like")

    first = "article:first-of-type .comments"
    browser.until_shown(f"{first} li p", "Saturday?", "Saturday.")
    browser.click("Send", within=first)
    browser.until_shown("[role=alert]", "INVALID this needs at least one character")
    browser.write(f"{first} input", "I will bring oil.")
    browser.click("Send", within=first)
    browser.until_shown(f"{first} li p", "Saturday?", "Saturday.", "I will bring oil.")
    browser.click("Show earlier comments", within=first)
    browser.until_shown(
        f"{first} li p", "I am older than that machine, and I do.", "Saturday?", "Saturday.", "I will bring oil."
    )
    assert browser.texts("[role=alert]") == []
    assert browser.accessibility_violations() == []

    browser.click("Winnie Clarke", within=first)
    browser.until_shown("h1", "Winnie Clarke")
    browser.until_shown("dd", "1", "2", "4")
    assert browser.accessibility_violations() == []

    browser.click("Family")
    browser.until_shown("h1", "The Lindqvists of Uppsala")
    browser.until(lambda: browser.is_drawn("Family tree: ancestors"))
    assert len(browser.all(".person")) == 8
    browser.click("Load more")
    browser.until(lambda: len(browser.all(".person")) == 11)
    browser.all(".person")[0].click()
    browser.click("Descendants")
    browser.until(lambda: browser.is_drawn("Family tree: descendants"))
    assert browser.accessibility_violations() == []

    browser.click("Sign out")
    browser.until_shown("nav .user")
    assert complaints(browser.driver) == []


def test_pages_fit_on_a_phone(phone: Browser) -> None:
    too_wide = []
    for path in ("/", "/sign-in", "/people/maya", "/family", "/no-such-page"):
        phone.open(path)
        phone.until(lambda: phone.all("h1") and not phone.all(".loading"))
        if phone.is_wider_than_the_screen():
            too_wide.append(path)

    assert too_wide == []
    assert complaints(phone.driver) == []


def test_a_refused_token_ends_the_session(browser: Browser) -> None:
    browser.open("/sign-in")
    browser.driver.execute_script("sessionStorage.setItem('heartwood-token', 'not a token')")

    browser.open("/")

    browser.until(lambda: browser.texts(".like")[:1] == ["♡ 1 like"])
    (notice,) = browser.texts("[role=alert]")
    assert notice.startswith("You were signed out: ")
    assert browser.texts("nav .button") == ["Sign in"]
