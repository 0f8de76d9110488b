"""Runs checks and prints one line for each."""

import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import TypeVar

URL = os.environ["HEARTWOOD_URL"]
HEADERS = {"authorization": f"Bearer {os.environ['HEARTWOOD_TOKEN']}", "x-tenant-id": os.environ["HEARTWOOD_TENANT"]}
UNIQUE = f"{time.time_ns():x}"

T = TypeVar("T")


def run(*checks: Callable[[], None]) -> None:
    """Runs checks, named by their docstrings, and exits with 1 if one fails."""
    failed = False
    for check in checks:
        try:
            check()
        except Exception:
            failed = True
            print(f"FAILED  {check.__doc__}\n{traceback.format_exc()}")
        else:
            print(f"ok      {check.__doc__}")
    sys.exit(failed)


def there(value: T | None) -> T:
    """Returns a value that must be there."""
    assert value is not None
    return value
