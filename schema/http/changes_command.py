"""`heartwood changes`: shows how far processors are, and replays or drops the changes that they could not handle."""

import argparse
import asyncio
import sys

from datastore.changes.change import decoded
from datastore.changes.log import ChangeLog
from datastore.changes.records import Checkpoint, DeadLetter
from datastore.client.budget import Usage
from datastore.client.writes import Delete, exists
from datastore.local import endpoint
from datastore.model.times import epoch_seconds, now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.background.processing import react
from resolvers.background.processors import PROCESSORS
from schema.http.secret import secret_for
from schema.http.services import Services
from schema.http.settings import Settings

TIME = 600.0
PAGE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("lag", help="list the processors, and how far behind they are")
    actions.add_parser("dead", help="list the changes that processors could not handle")
    for action, purpose in (("replay", "give dead changes to their processor again"), ("drop", "delete dead changes")):
        chosen = actions.add_parser(action, help=purpose)
        chosen.add_argument("letter", help="a change as `dead` lists it, the name of a processor, or `all`")


def run(arguments: argparse.Namespace) -> int:
    settings = Settings()
    with endpoint.chosen(settings) as where:
        return asyncio.run(_at(where, settings, arguments))


async def _at(where: endpoint.Place, settings: Settings, arguments: argparse.Namespace) -> int:
    services = Services.at(where, settings, secret_for(settings))
    try:
        load = Loaders(services.table.using(Usage.lasting(TIME)), ANONYMOUS, consistent=True)
        if arguments.action == "lag":
            return await _lag(load, services.changes.log)
        letters = [each async for page in load.pages(DeadLetter.within(), PAGE) for each in page]
        if arguments.action == "dead":
            print("".join(f"{_name(each)}  {each.error}  {each.changes}\n" for each in letters), end="")
            return 0
        chosen = [each for each in letters if arguments.letter in ("all", each.processor, _name(each))]
        if not chosen:
            print(f"there is no dead change {arguments.letter}; `heartwood changes dead` lists them", file=sys.stderr)
            return 1
        work = _replay if arguments.action == "replay" else _drop
        return max([await work(services, each) for each in chosen])
    finally:
        await services.close()


def _name(letter: DeadLetter) -> str:
    return f"{letter.processor}-{letter.partition}-{letter.sequence}-{letter.place}"


async def _lag(load: Loaders, change_log: ChangeLog) -> int:
    for partition in range(change_log.partitions):
        head = await change_log.head(partition)
        within = Checkpoint.within(partition=partition)
        found = {each.processor: each.sequence async for page in load.pages(within, PAGE) for each in page}
        for name in sorted({*PROCESSORS, *found}):
            position = found.get(name, 0)
            waiting = await change_log.read(partition, position)
            age = f"{max(0, epoch_seconds(now()) - epoch_seconds(waiting[0].at))} s" if waiting else "0 s"
            gone = "" if name in PROCESSORS else "  no longer a processor of this server"
            print(f"{name}  partition {partition}  {head - position} batches behind  {age}{gone}")
    return 0


async def _replay(services: Services, letter: DeadLetter) -> int:
    """Gives a change to its processor. What that returns is written with the deletion of the letter: once."""
    processor = PROCESSORS.get(letter.processor)
    if processor is None:
        print(f"{_name(letter)}: no processor has this name; drop it", file=sys.stderr)
        return 1
    try:
        writes = await react(processor, services.table, services.tools, decoded(letter.changes))
    except Exception as error:
        print(f"{_name(letter)} fails again: {error!r:.300}", file=sys.stderr)
        return 1
    await services.table.using(Usage.lasting(TIME)).transact(*writes, Delete(letter.own_key, when=exists()))
    print(f"{_name(letter)} is done")
    return 0


async def _drop(services: Services, letter: DeadLetter) -> int:
    await services.table.using(Usage.lasting(TIME)).delete(letter.own_key)
    print(f"{_name(letter)} is dropped")
    return 0
