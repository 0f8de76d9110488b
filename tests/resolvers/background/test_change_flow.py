"""The source of changes: the outbox if the table client records them, otherwise the stream."""

from datastore.changes.outbox import Outbox
from datastore.local.endpoint import LOCAL_REGION, Place
from resolvers.background.change_flow import ChangeFlow


def flow_at(graph, place):
    services = graph.services
    table = place.table(services.table.transport, services.table.name, services.table.usage)
    return table, ChangeFlow(table, services.tools, place.connect_to_stream)


async def test_the_stream_is_read_where_the_table_has_one(graph, endpoint):
    table, flow = flow_at(graph, Place(endpoint, LOCAL_REGION, keeps_data=True, changes="stream"))
    assert table.recorder is None
    assert flow.outbox is None
    assert flow.in_one_worker == [flow.processing, flow.stream]


async def test_the_outbox_is_read_on_this_machine(graph, endpoint):
    table, flow = flow_at(graph, Place(endpoint, LOCAL_REGION, keeps_data=True))
    assert isinstance(table.recorder, Outbox)
    assert flow.stream is None
    assert flow.in_one_worker == [flow.processing, flow.outbox]
