"""Reports damaged items in the log: each once per interval, however often it is read."""

import logging
import time
from collections import OrderedDict

from datastore.client.errors import CorruptItem

log = logging.getLogger("heartwood.damage")

INTERVAL = 600.0
REMEMBERED = 1_000

_reported: OrderedDict[tuple[str, str], float] = OrderedDict()


def report(error: CorruptItem) -> CorruptItem:
    """Logs a damaged item, unless it was logged a short time ago. Returns the error."""
    place, now = (error.pk, error.sk) if error.pk else (str(error), ""), time.monotonic()
    if place not in _reported or now - _reported[place] >= INTERVAL:
        _reported[place] = now
        _reported.move_to_end(place)
        if len(_reported) > REMEMBERED:
            _reported.popitem(last=False)
        log.error("%s", error)
    return error
