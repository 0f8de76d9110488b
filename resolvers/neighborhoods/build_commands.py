"""The commands of builds: a site's owner starts one, a builder reports how it goes."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Check, Put, Update, Write, absent, equals, exists, same
from datastore.model.keys import Key
from datastore.model.times import new_id, now, seconds_from_now, time_from_now
from datastore.neighborhoods import Build, BuildStatus, Site
from loaders.request import Loaders
from resolvers.accounts.guards import is_open, no_account
from resolvers.background.jobs import job, queued
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.validation import Checks
from resolvers.neighborhoods.edges import built_site
from resolvers.neighborhoods.site_commands import own_site

KEPT = timedelta(days=90)
WAITS_AT_MOST = timedelta(hours=24)
RUNS_AT_MOST = timedelta(hours=1)
MAX_ERROR = 4_000

NEXT = {
    BuildStatus.QUEUED: (BuildStatus.RUNNING,),
    BuildStatus.RUNNING: (BuildStatus.COMPLETED, BuildStatus.FAILED),
    BuildStatus.COMPLETED: (),
    BuildStatus.FAILED: (),
}


async def start_build(context: Context, *, site_id: Annotated[Key[Site], Doc("The `id` of the site.")]) -> Build:
    """Have one's site built. While a build of it waits for a builder, that one is the answer."""
    return await settled(lambda: _start(context, site_id))


async def _start(context: Context, key: Key[Site]) -> Build:
    site = await own_site(context, key)
    if site.queued_build is not None:
        place = Build.key(site_id=site.site_id, created_at=site.queued_build)
        await context.load.fresh(place)
        waiting = await context.load.one(place)
        if waiting is not None and waiting.status is BuildStatus.QUEUED:
            return waiting
    build = Build(site_id=site.site_id, user_id=site.user_id, job_id=new_id(), expires_at=seconds_from_now(KEPT))
    account = Check(User.key(user_id=site.user_id), when=is_open())
    await write_or_refuse(
        context.load,
        account,
        Update(key, set={"queued_build": build.created_at}, when=is_open() & same("queued_build", site.queued_build)),
        Put(build, when=absent()),
        _given_up(build, WAITS_AT_MOST),
        refusals={account: no_account()},
    )
    return build


async def report_build(
    context: Context,
    *,
    build_id: Annotated[Key[Build], Doc("The `id` of the build.")],
    status: Annotated[BuildStatus, Doc("How far it has come: RUNNING, then COMPLETED or FAILED.")],
    error: Annotated[str | None, Doc("Why it failed, up to 4,000 characters.")] = None,
    log_url: Annotated[str | None, Doc("The https address of the log.")] = None,
) -> Build:
    """Say how a build goes: for builders. Whichever says first that it is RUNNING has it; a build never goes back."""
    builder_id = context.signed_in
    if not context.viewer.is_builder:
        raise refused(ProblemCode.FORBIDDEN, "this takes a token with the role `builder`")
    checks = Checks()
    error = checks.text("error", error, at_most=MAX_ERROR)
    if error and status is not BuildStatus.FAILED:
        checks.problem("error", "only a build that FAILED has an error")
    if log_url is not None:
        log_url = checks.https_url("logUrl", log_url)
    checks.done()
    said = {name: value for name, value in (("error", error), ("log_url", log_url)) if value is not None}
    return await settled(lambda: _report(context.load, build_id, status, {**said, "builder_id": builder_id}))


async def _report(load: Loaders, key: Key[Build], status: BuildStatus, said: dict[str, str]) -> Build:
    (build,) = await load.fresh(key)
    if build is None:
        raise refused(ProblemCode.NOT_FOUND, "there is no such build", "input", "buildId")
    if build.builder_id not in (None, said["builder_id"]):
        raise refused(ProblemCode.CONFLICT, "another builder has this build", "input", "buildId")
    if build.status is status:
        return await _noted(load, build, said)
    if status not in NEXT[build.status]:
        message = f"a build that is {build.status.name} cannot become {status.name}"
        raise refused(ProblemCode.CONFLICT, message, "input", "status")
    return await _step(load, build, status, said)


async def _noted(load: Loaders, build: Build, said: dict[str, str]) -> Build:
    """The same again, perhaps with a log; a build that waits is nobody's yet."""
    if build.builder_id is None or all(getattr(build, name) == value for name, value in said.items()):
        return build
    after = build.changed(**said)
    await load.write(Update.of(build, after, when=equals("status", build.status)))
    return after


async def _step(load: Loaders, build: Build, status: BuildStatus, said: dict[str, str]) -> Build:
    """The build and the place it takes up at its site, which is the lock that lets only one run."""
    moment = "started_at" if status is BuildStatus.RUNNING else "completed_at"
    after = build.changed(status=status, **{moment: now()}, **said)
    writes: list[Write] = [Update.of(build, after, when=equals("status", build.status))]
    (site,) = await load.fresh(built_site(build))
    if site is not None:
        if status is BuildStatus.RUNNING and site.running_build not in (None, build.created_at):
            raise refused(ProblemCode.CONFLICT, "another build of this site is running", "input", "buildId")
        writes.append(_at_site(site, after))
    if status is BuildStatus.RUNNING:
        writes.append(_given_up(after, RUNS_AT_MOST))
    await load.write(*writes)
    return after


def _at_site(site: Site, build: Build) -> Update:
    """What it is to the site now; to its owner that is no change of theirs, so the version stays."""
    others = {
        name: None if at == build.created_at else at
        for name, at in (("queued_build", site.queued_build), ("running_build", site.running_build))
    }
    after = site.changed(**others, updated_at=site.updated_at)
    if build.status is BuildStatus.RUNNING:
        after = replace(after, running_build=build.created_at)
    elif build.status is BuildStatus.COMPLETED:
        after = replace(after, built_at=build.completed_at)
    as_they_were = same("queued_build", site.queued_build) & same("running_build", site.running_build)
    return Update.of(site, after, when=exists() & as_they_were)


@job
async def give_up_on_build(load: Loaders, *, site_id: str, created_at: str, status: str) -> None:
    """A builder that went away must not keep a site from being built for ever."""
    await settled(lambda: _give_up(load, Build.key(site_id=site_id, created_at=created_at), status))


async def _give_up(load: Loaders, key: Key[Build], status: str) -> None:
    (build,) = await load.fresh(key)
    if build is not None and build.status.value == status:
        await _step(load, build, BuildStatus.FAILED, {"error": "the builder did not report in time"})


def _given_up(build: Build, after: timedelta) -> Put:
    return queued(
        give_up_on_build,
        due_at=time_from_now(after),
        site_id=build.site_id,
        created_at=build.created_at,
        status=build.status.value,
    )
