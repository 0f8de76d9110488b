"""Chromium for tests of web pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")

needs_chromium = pytest.mark.skipif(not CHROMIUM or not CHROMEDRIVER, reason="needs Chromium and chromedriver")

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
    # Editors render only the visible part of their text.
    "--window-size=1400,1600",
)
PHONE = {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 2, "touch": True}}


@contextmanager
def chromium(profile: Path, emulation: dict[str, Any] | None = None) -> Iterator[webdriver.Chrome]:
    """Starts Chromium with a profile of its own, and keeps the messages of the console."""
    options = Options()
    options.binary_location = str(CHROMIUM)
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    if emulation:
        options.add_experimental_option("mobileEmulation", emulation)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(CHROMEDRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def complaints(driver: webdriver.Chrome) -> list[str]:
    """Returns the warnings and errors in the console since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] != "INFO"]
