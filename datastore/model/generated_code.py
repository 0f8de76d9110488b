"""Functions generated from source text: compiled here, so that tracebacks show the source line.

Sources contain only this project's own field names, key templates and expressions, never client input. Entities have
hundreds of these functions, and a process uses few of them, so the first call of a function compiles it.
"""

import linecache
import weakref
from collections.abc import Iterator
from itertools import count
from types import FunctionType
from typing import Any

_numbers: Iterator[int] = count(1)


def define(function: str, source: str, names: dict[str, Any], *, purpose: str) -> Any:
    """Returns the function that `source` defines with these globals.

    `purpose` names it in tracebacks: `<generated 12: decode Post>`.
    """
    filename = f"<generated {next(_numbers)}: {purpose}>"
    made = FunctionType(_uncompiled.__code__, names, function)

    def compiled(*arguments: Any, **keywords: Any) -> Any:
        exec(compile(source, filename, "exec"), names)  # noqa: S102  see the module's docstring
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        # Query plans are evicted; their source is removed with them.
        weakref.finalize(made, linecache.cache.pop, filename, None).atexit = False
        # Callers hold the function already, so it becomes the compiled one instead of calling it.
        real = names[function]
        made.__defaults__, made.__kwdefaults__ = real.__defaults__, real.__kwdefaults__
        made.__code__ = real.__code__
        return made(*arguments, **keywords)

    names["compiled"] = compiled
    return made


def _uncompiled(*arguments: Any, **keywords: Any) -> Any:
    return compiled(*arguments, **keywords)  # type: ignore[name-defined]  # noqa: F821  a global of the new function
