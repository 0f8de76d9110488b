"""Functions generated from source text: compiled here, so that tracebacks show the source line.

Sources contain only this project's own field names, key templates and expressions, never client input. Entities have
hundreds of these functions, and a process uses few of them, so the first call of a function compiles it.
"""

import linecache
import threading
import weakref
from collections.abc import Callable, Iterator
from itertools import count
from types import FunctionType
from typing import Any

_numbers: Iterator[int] = count(1)
_compiling = threading.RLock()


def define(function: str, source: str | Callable[[], str], names: dict[str, Any], *, purpose: str) -> Any:
    """Returns the function that `source`, or the text it returns when it is needed, defines with these globals.

    `purpose` names it in tracebacks: `<generated 12: decode Post>`.
    """
    filename = f"<generated {next(_numbers)}: {purpose}>"
    made = FunctionType(_uncompiled.__code__, names, function)

    def compiled(*arguments: Any, **keywords: Any) -> Any:
        with _compiling:
            if made.__code__ is _uncompiled.__code__:
                become(source if isinstance(source, str) else source())
        return made(*arguments, **keywords)

    def become(text: str) -> None:
        """Callers hold the function already, so it becomes the compiled one instead of calling it."""
        exec(compile(text, filename, "exec"), names)  # noqa: S102  see the module's docstring
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        # Query plans are evicted; their source is removed with them.
        weakref.finalize(made, linecache.cache.pop, filename, None).atexit = False
        real = names[function]
        made.__defaults__, made.__kwdefaults__ = real.__defaults__, real.__kwdefaults__
        made.__code__ = real.__code__

    names["compiled"] = compiled
    return made


def _uncompiled(*arguments: Any, **keywords: Any) -> Any:
    return compiled(*arguments, **keywords)  # type: ignore[name-defined]  # noqa: F821  a global of the new function
