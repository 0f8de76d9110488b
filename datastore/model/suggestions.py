"""The second half of an error message about an unknown name: what to use instead."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(unknown: str, known: Iterable[str]) -> str:
    names = [*known]
    close = get_close_matches(unknown, names, n=1)
    return f"did you mean {close[0]}?" if close else f"the known names are {', '.join(names) or 'none'}."
