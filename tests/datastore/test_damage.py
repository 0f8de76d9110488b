"""Damaged items are reported once per interval."""

from datastore.client import damage
from datastore.client.errors import CorruptItem

ONE, OTHER = CorruptItem("the item A / B is odd", "A", "B"), CorruptItem("the item A / C is odd", "A", "C")


def test_an_item_is_reported_once_per_interval(monkeypatch, caplog):
    damage._reported.clear()

    for now in (0.0, 1.0, damage.INTERVAL - 1, damage.INTERVAL):
        monkeypatch.setattr(damage.time, "monotonic", lambda now=now: now)
        for error in (ONE, OTHER):
            assert damage.report(error) is error

    assert [record.getMessage() for record in caplog.records] == [str(ONE), str(OTHER)] * 2


def test_only_so_many_items_are_remembered(monkeypatch):
    monkeypatch.setattr(damage, "REMEMBERED", 10)
    damage._reported.clear()

    for number in range(100):
        damage.report(CorruptItem("odd", "A", str(number)))

    assert [sk for _, sk in damage._reported] == [str(number) for number in range(90, 100)]
