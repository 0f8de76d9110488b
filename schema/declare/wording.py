"""Rewording of the messages of graphql-core about invalid values, which it shows as Python writes them."""

import re
from collections.abc import Callable

KINDS = {
    "Int": "a whole number from -2147483648 to 2147483647",
    "Float": "a number",
    "String": "text in double quotes",
    "Boolean": "true or false",
    "ID": "text in double quotes",
}

MORE_ERRORS = "there are more errors; fix these first"

WORDINGS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"Expected value of non-null type '(.+?)' not to be (?:None|null)\.", r"it cannot be null; it must be of type \1"),
    (r"Expected a value of non-null type '(.+?)' to be provided\.", r"it is missing; it must be of type \1"),
    (r"Expected value of type '(.+?)' to be an object, found: .*", r"it must be an object with the fields of \1"),
    (r"Expected value of type '(.+?)' to include required field '(.+?)', found: .*", r"\1 requires the field '\2'"),
    (
        r"Expected value of type '(.+?)' not to include unknown field '(.*?)'"
        r"(?:\. (Did you mean .+?\?) Found|, found): .*",
        lambda found: f"{found[1]} has no field '{found[2][:60]}'" + (f". {found[3]}" if found[3] else ""),
    ),
    (
        r"Within OneOf Input Object type '(.+?)', exactly one field must be specified, .*",
        r"send exactly one field of \1, and not null",
    ),
    (
        r"Expected variable '(.+?)' provided to field '(.+?)' for OneOf Input Object type '(.+?)' .*",
        r"the variable \1 has no value; send one for the field '\2' of \3",
    ),
    (r"(Int|Float|String|Boolean|ID) cannot represent .*", lambda found: f"{found[1]} is {KINDS[found[1]]}"),
    (
        r"Value '(.*)' does not exist in '(.+?)' enum\.(?: (Did you mean .+\?))?",
        lambda found: f"'{found[1][:60]}' is not a {found[2]}" + (f". {found[3]}" if found[3] else ""),
    ),
    (
        r"Enum '(.+?)' cannot represent non-(?:string|enum) value: .*?(Did you mean the enum value .+\?)?",
        lambda found: f"it must be the name of a {found[1]}" + (f". {found[2]}" if found[2] else ""),
    ),
    (r"Expected value of type '(.+?)', (?:but encountered error .*; )?found: .*", r"it is not a \1"),
    (r"Variable values are nested too deeply\.", "the variables are nested too deeply; send less"),
    (r"Too many .*, error limit reached\. .*", MORE_ERRORS),
]
_PATTERNS = [(re.compile(pattern, re.DOTALL).fullmatch, words) for pattern, words in WORDINGS]

_prefix = re.compile(
    r"((?:Variable|Argument) '[^']*'(?: defined by fragment '[^']*')? has )(invalid (?:default )?value)"
)
"""The place of a value, which its path follows."""


def in_our_words(message: str) -> str:
    """Returns the message of an error about a value, without the value as Python writes it."""
    start = _prefix.match(message)
    if start is None:
        return _reworded(message)
    place, _, rest = message[start.end() :].partition(": ")
    return f"{start[1]}an {start[2]}{place}: {_reworded(rest)}"


def _reworded(message: str) -> str:
    for matches, words in _PATTERNS:
        if found := matches(message):
            return words(found) if callable(words) else found.expand(words)
    return message
