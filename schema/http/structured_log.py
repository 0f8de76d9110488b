"""structlog without rich, which it loads if it is installed.

Loading rich takes a tenth of a second, and its tracebacks show the values of variables, which may be secret.
"""

import sys

_rich = sys.modules.get("rich")
sys.modules["rich"] = None  # type: ignore[assignment]
try:
    import structlog as structlog
finally:
    if _rich is None:
        del sys.modules["rich"]
    else:
        sys.modules["rich"] = _rich
