"""The garbage collector, told what to expect."""

import gc


def settle() -> None:
    """To be called when everything is loaded. None of that becomes garbage, so the collector need not walk it again.

    A batch of records is thousands of short-lived objects: with the collector's usual thresholds it runs several times
    per batch, which is a quarter of the CPU of reading one.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
