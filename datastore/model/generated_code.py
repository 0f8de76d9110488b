"""Functions generated from source text: compiled here, so that tracebacks show the source line.

Sources are made of this project's own field names, key templates and tests of values, never of what a client sends.
"""

import linecache
import weakref
from collections.abc import Iterator
from itertools import count
from typing import Any

_numbers: Iterator[int] = count(1)


def define(function: str, source: str, names: dict[str, Any], *, purpose: str) -> Any:
    """Compiles `source` with these globals and returns the function it defines.

    `purpose` names it in tracebacks: `<generated 12: decode Post>`.
    """
    filename = f"<generated {next(_numbers)}: {purpose}>"
    exec(compile(source, filename, "exec"), names)  # noqa: S102  see the module's docstring
    made = names[function]
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    # Plans of queries come and go; their source goes with them.
    weakref.finalize(made, linecache.cache.pop, filename, None).atexit = False
    return made
