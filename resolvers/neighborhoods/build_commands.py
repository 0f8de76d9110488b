"""Commands of builds: the owner of a site starts one, a builder reports its progress."""

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
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import HttpsUrl, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, not_found, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.neighborhoods.edges import built_site
from resolvers.neighborhoods.site_commands import own_site

KEPT = timedelta(days=90)
WAITS_AT_MOST = timedelta(hours=24)
RUNS_AT_MOST = timedelta(hours=1)

NEXT = {
    BuildStatus.QUEUED: (BuildStatus.RUNNING,),
    BuildStatus.RUNNING: (BuildStatus.COMPLETED, BuildStatus.FAILED),
    BuildStatus.COMPLETED: (),
    BuildStatus.FAILED: (),
}


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER,))
@retries_on_conflict
async def start_build(context: Context, *, site_id: Annotated[Key[Site], Doc("ID of the site.")]) -> Build:
    """Queues a build of a site, or returns the one already queued."""
    site = await own_site(context, site_id)
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
        Update(
            site_id, set={"queued_build": build.created_at}, when=is_open() & same("queued_build", site.queued_build)
        ),
        Put(build, when=absent()),
        _given_up(build, WAITS_AT_MOST),
        refusals={account: no_account()},
    )
    return build


@access(requires=AccessRole.BUILDER)
async def report_build(
    context: Context,
    *,
    build_id: Annotated[Key[Build], Doc("ID of the build.")],
    status: Annotated[BuildStatus, Doc("New status: RUNNING, then COMPLETED or FAILED.")],
    error: Annotated[str | None, Doc("Error message of a failed build."), Text(at_most=4_000)] = None,
    log_url: Annotated[str | None, Doc("URL of the build log."), HttpsUrl()] = None,
) -> Build:
    """Reports the progress of a build. The first builder to report RUNNING owns it; the status only moves forward."""
    if error and status is not BuildStatus.FAILED:
        raise refused(ProblemCode.INVALID, "only a FAILED build has an error", at="error")
    reported = {name: value for name, value in (("error", error), ("log_url", log_url)) if value is not None}
    return await _report(context.load, build_id, status, {**reported, "builder_id": context.signed_in})


@retries_on_conflict
async def _report(load: Loaders, key: Key[Build], status: BuildStatus, reported: dict[str, str]) -> Build:
    (build,) = await load.fresh(key)
    if build is None:
        raise not_found(key)
    if build.builder_id not in (None, reported["builder_id"]):
        raise refused(ProblemCode.CONFLICT, "another builder owns this build", at=key)
    if build.status is status:
        return await _noted(load, build, reported)
    if status not in NEXT[build.status]:
        message = f"a build cannot change from {build.status.name} to {status.name}"
        raise refused(ProblemCode.CONFLICT, message, at="status")
    return await _step(load, build, status, reported)


async def _noted(load: Loaders, build: Build, reported: dict[str, str]) -> Build:
    """Records a repeated report, perhaps with a log URL. A queued build has no builder yet."""
    if build.builder_id is None or all(getattr(build, name) == value for name, value in reported.items()):
        return build
    after = build.changed(**reported)
    await load.write(Update.of(build, after, when=equals("status", build.status)))
    return after


async def _step(load: Loaders, build: Build, status: BuildStatus, reported: dict[str, str]) -> Build:
    """Writes the build together with its site, whose `running_build` is the lock that allows one build at a time."""
    moment = "started_at" if status is BuildStatus.RUNNING else "completed_at"
    after = build.changed(status=status, **{moment: now()}, **reported)
    writes: list[Write] = [Update.of(build, after, when=equals("status", build.status))]
    (site,) = await load.fresh(built_site(build))
    if site is not None:
        if status is BuildStatus.RUNNING and site.running_build not in (None, build.created_at):
            raise refused(ProblemCode.CONFLICT, "another build of this site is running", at=build.own_key)
        writes.append(_at_site(site, after))
    if status is BuildStatus.RUNNING:
        writes.append(_given_up(after, RUNS_AT_MOST))
    await load.write(*writes)
    return after


def _at_site(site: Site, build: Build) -> Update:
    """Updates the site's build state. It is not a change by the owner, so the version stays."""
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
@retries_on_conflict
async def give_up_on_build(load: Loaders, *, site_id: str, created_at: str, status: str) -> None:
    """Fails a build whose builder stopped reporting, so that the site can be built again."""
    (build,) = await load.fresh(Build.key(site_id=site_id, created_at=created_at))
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
