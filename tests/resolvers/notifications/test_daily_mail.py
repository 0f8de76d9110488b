"""The daily email: only about what is unread, only to a verified address, and at most once a day."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from datastore.model.times import now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.notifications.daily_mail import mail_notifications, next_hour
from tests.resolvers.notifications.test_commands import PREFER, READ_ALL
from tests.support.graph import id_of, viewer_of
from tests.support.mailbox import Mailbox, a_mailbox
from tests.support.social import LIKE


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with a_mailbox() as mailbox:
        yield mailbox


@pytest.fixture
async def ada(graph, society):
    """A user with an unread notification, who wants the email."""
    ada, bob = await society.person("ada", email_verified_at=now()), await society.person("bob")
    post = await society.post(ada, caption="A hinge")
    await graph.command(PREFER, viewer_of(ada), dailyMailHour=7)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.settle()
    return ada


async def mail(graph, user, mailbox, hour="7"):
    load = Loaders(graph.table, ANONYMOUS, consistent=True)
    await mail_notifications(load, user_id=user.user_id, hour=hour, mail=mailbox.mail())


async def test_what_is_unread_is_mailed_once_a_day(graph, ada, mailbox):
    await asyncio.gather(*(mail(graph, ada, mailbox) for _ in range(3)))

    assert mailbox.recipients == [["ada@example.org"]]
    assert mailbox.text() == (
        "Hello ada,\n\nthis is what you have not read yet:\n\n- bob liked your post “A hinge”.\n\n"
        "You get this email once a day because you asked for it. To stop it, set the hour of the daily email to none "
        "in the preferences of your notifications (`updateNotificationPreferences`).\n"
    )


async def test_the_email_is_queued_once_for_the_hour(graph, ada, society):
    for name in ("cyd", "dan"):
        person = await society.person(name)
        post = await society.post(ada)
        await graph.command(LIKE, viewer_of(person), postId=id_of(post))
        await graph.settle()

    jobs = await graph.jobs()

    assert [(job.kind, job.subject, job.due_at) for job in jobs] == [
        ("mail_notifications", {"user_id": ada.user_id, "hour": "7"}, next_hour(7))
    ]


async def test_nothing_is_mailed_if_all_is_read(graph, ada, mailbox):
    await graph.ask(READ_ALL, viewer_of(ada))
    await mail(graph, ada, mailbox)
    assert mailbox.arrived == []


async def test_nothing_is_mailed_to_one_who_stopped_it(graph, ada, mailbox):
    await graph.command(PREFER, viewer_of(ada), dailyMailHour=None)
    await mail(graph, ada, mailbox)
    assert mailbox.arrived == []


async def test_another_hour_has_a_job_of_its_own(graph, ada, mailbox):
    await graph.command(PREFER, viewer_of(ada), dailyMailHour=8)
    await mail(graph, ada, mailbox, hour="7")
    assert mailbox.arrived == []

    jobs = await graph.jobs()
    assert {(job.subject["hour"], job.due_at) for job in jobs} == {("7", next_hour(7)), ("8", next_hour(8))}
    await mail(graph, ada, mailbox, hour="8")
    assert len(mailbox.arrived) == 1


async def test_nothing_is_mailed_to_an_address_that_is_not_verified(graph, ada, mailbox):
    await graph.table.put(ada.changed(email_verified_at=None))
    await mail(graph, ada, mailbox)
    assert mailbox.arrived == []


async def test_an_email_that_fails_is_not_tried_again_that_day(graph, ada, mailbox):
    mailbox.to_data = "451 later"
    await mail(graph, ada, mailbox)
    mailbox.to_data = "250 OK"
    await mail(graph, ada, mailbox)
    assert mailbox.arrived == []


def test_the_next_hour_is_in_the_future():
    assert now() < next_hour(0) < next_hour(0)[:10] + "T00:00:00.001Z"
