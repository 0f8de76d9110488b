"""Functions generated from source text: compiled here, so that tracebacks show the source line.

Sources contain only this project's own field names, key templates and expressions, never client input.
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
    # Query plans are evicted; their source is removed with them.
    weakref.finalize(made, linecache.cache.pop, filename, None).atexit = False
    return made
