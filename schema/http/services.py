"""The services a server process holds one of, and the context it builds for each request."""

from dataclasses import dataclass, replace
from functools import cached_property

from starlette.requests import HTTPConnection

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import Place
from loaders.hot_reads import HotReads
from loaders.request import Loaders
from loaders.shared_reads import SharedReads
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.accounts.email_codes import EmailCodes
from resolvers.accounts.hidden_accounts import HiddenAccounts
from resolvers.accounts.passwords import Passwords
from resolvers.accounts.security_counts import SecurityCounts
from resolvers.accounts.token_epoch import required_of
from resolvers.accounts.tokens import BadToken, Tokens
from resolvers.accounts.viewer_states import ViewerStates
from resolvers.background.change_flow import ChangeFlow
from resolvers.background.mail import Mail
from resolvers.background.tools import Tools, tools
from resolvers.background.usage_sharing import UsageSharing
from resolvers.background.webhook_sender import WebhookSender
from resolvers.cards.view_counter import Views
from resolvers.cms.known_tenants import KnownTenants
from resolvers.core import security_log
from resolvers.core.allowance import REFUSED_COST, UNLIMITED, Allowance, RequestLimits
from resolvers.core.command_limits import PER_HOUR, CommandLimits
from resolvers.core.error_codes import ErrorCode
from resolvers.core.options import Options
from resolvers.core.security_events import hourly_event
from resolvers.search.choosing import engine_for
from resolvers.search.index import SearchIndex
from resolvers.search.keeping import IndexKeeper
from schema.build import build
from schema.declare import idempotency
from schema.declare.context import RequestContext
from schema.declare.cursors import Cursors
from schema.declare.idempotency import IdempotencyKeys
from schema.execution.executor import Executor
from schema.http import protocol
from schema.http.client_address import client_address, subject
from schema.http.settings import Settings
from schema.live.live_queries import LiveQueries
from schema.live.operations import Operations
from schema.live.subscriptions import Subscriptions

TENANT = "x-tenant-id"


@dataclass
class Services:
    """The services a process holds one of."""

    settings: Settings
    place: Place
    table: Table
    shared_reads: SharedReads
    tokens: Tokens
    passwords: Passwords
    mail: Mail
    options: Options
    webhook_sender: WebhookSender
    email_codes: EmailCodes
    security_counts: SecurityCounts
    views: Views
    hidden_accounts: HiddenAccounts
    viewer_states: ViewerStates
    known_tenants: KnownTenants
    request_limits: RequestLimits | None
    command_limits: CommandLimits
    usage_sharing: UsageSharing
    tools: Tools
    changes: ChangeFlow
    search_index: SearchIndex
    index_keeper: IndexKeeper
    cursors: Cursors
    idempotency_keys: IdempotencyKeys
    executor: Executor

    @cached_property
    def operations(self) -> Operations:
        """Operations that may have several results."""
        for tail in self.changes.tails:
            tail.listeners.append(lambda batch: self.viewer_states.heard(batch.changes))
        live = LiveQueries(
            self.executor,
            self.table,
            self.changes.tails,
            self.hidden_accounts,
            self._anonymous_context,
            max_answer_bytes=self.settings.max_answer_bytes,
            seconds_of_a_run=self.settings.request_timeout,
        )
        subscriptions = Subscriptions(
            self.executor,
            self.table,
            self.changes.log,
            self.changes.tails,
            self._anonymous_context,
            max_answer_bytes=self.settings.max_answer_bytes,
            seconds_of_a_run=self.settings.request_timeout,
        )
        return Operations(
            self.executor, live, subscriptions, self.settings.max_answer_bytes, self.settings.request_timeout
        )

    async def _anonymous_context(self) -> RequestContext:
        return self.context_of(ANONYMOUS)

    @classmethod
    def at(cls, where: Place, settings: Settings, secret: str, passwords: Passwords | None = None) -> "Services":
        transport = Transport(
            region=where.region,
            endpoint=where.endpoint,
            max_in_flight=settings.max_calls_in_flight,
            credentials=where.credentials,
        )
        limited = settings.limits_rates(local_table=where.is_local)
        request_limits = RequestLimits(settings.rates) if limited else None
        command_limits = CommandLimits({**PER_HOUR, **settings.rate_limit_commands} if limited else {})
        buckets = [*(request_limits.buckets if request_limits else ()), *command_limits.buckets]
        table = where.table(transport, settings.table_name, Usage.lasting(settings.request_timeout))
        mail = Mail(settings.mail(into_log=where.is_local))
        private = settings.allows_private_webhooks(local_table=where.is_local)
        options = replace(settings.options, private_webhooks=private)
        webhook_sender = WebhookSender(allow_private=private)
        given = tools(mail, options, webhook_sender)
        changes = ChangeFlow(table, given, where.connect_to_stream, settings.change_partitions)
        search_index = SearchIndex(engine_for(settings, changes.leases))
        cache_bytes = settings.cache_mb * 1_000_000
        return cls(
            settings=settings,
            place=where,
            table=table,
            shared_reads=HotReads(table, changes.tails, cache_bytes) if cache_bytes else SharedReads(table),
            tokens=Tokens(settings.tokens(secret)),
            passwords=passwords or Passwords(),
            mail=mail,
            options=options,
            webhook_sender=webhook_sender,
            email_codes=EmailCodes(secret),
            security_counts=SecurityCounts(table),
            views=Views(table),
            hidden_accounts=HiddenAccounts(table),
            viewer_states=ViewerStates(table, settings.request_timeout),
            known_tenants=KnownTenants(table, settings.request_timeout),
            request_limits=request_limits,
            command_limits=command_limits,
            usage_sharing=UsageSharing(table, buckets),
            tools=given,
            changes=changes,
            search_index=search_index,
            index_keeper=IndexKeeper(search_index, table, changes.log, changes.tails, options),
            cursors=Cursors(secret),
            idempotency_keys=IdempotencyKeys(secret),
            executor=Executor(
                build()._schema,
                settings.limits,
                compiled=settings.compile_queries,
                introspection=settings.introspection,
            ),
        )

    def stop_following(self) -> None:
        """Ends live queries and subscriptions, if there were any."""
        if "operations" in self.__dict__:
            self.operations.close()

    async def close(self) -> None:
        """Closes its connections and ends its threads."""
        self.stop_following()
        # It gives its lease back, for which it needs the table.
        await self.index_keeper.close()
        await self.table.transport.close()
        self.passwords.close()
        self.mail.close()
        self.webhook_sender.close()

    async def viewer(self, request: HTTPConnection) -> Viewer:
        """Returns the viewer of a request; raises BadToken."""
        try:
            viewer = await self.tokens.viewer(request.headers.get("authorization"))
            if not self.tokens.are_ours:
                viewer = await self.viewer_states.links.resolved(viewer)
            await self.viewer_states.check(viewer)
        except BadToken as error:
            security_log.token_refused(str(error.__cause__ or error))
            self._count_refused(request, error)
            raise
        return viewer

    def _count_refused(self, request: HTTPConnection, error: BadToken) -> None:
        """Counts a refused token. The tenant's log has it too if this server knows the tenant."""
        given = request.headers.get(TENANT)
        tenant_id = given if given is not None and given in self.known_tenants else None
        address, details = subject(client_address(request)), {"reason": error.code.name}
        event = hourly_event("tokenRefused", tenant_id=tenant_id, address=address, details=details)
        self.security_counts.refuse(event, tenant_id)

    async def context(self, request: HTTPConnection) -> RequestContext:
        viewer = await self.viewer(request)
        if tenant_id := request.headers.get(TENANT):
            await self._check_tenant(tenant_id, viewer, client_address(request))
            viewer = replace(viewer, tenant_id=tenant_id)
        if viewer.roles or viewer.tenant_role:
            security_log.role_used(viewer.user_id, sorted(viewer.roles), viewer.tenant_id, viewer.tenant_role)
            self.security_counts.use_roles(viewer, await self.viewer_states.email_of(viewer))
        await self.hidden_accounts.loaded(self.settings.request_timeout)
        key = _idempotency_key(request.headers.getlist(idempotency.HEADER))
        return self.context_of(viewer, client_address(request), key)

    async def _check_tenant(self, tenant_id: str, viewer: Viewer, address: str) -> None:
        """Raises BadRequest if there is no such tenant. Guessing names is charged like any other mistake."""
        if tenant_id in self.known_tenants:
            return
        allowance = self._allowance(viewer, subject(address))
        allowance.check()
        if not await self.known_tenants.exists(tenant_id):
            allowance.owe(REFUSED_COST)
            message = f"there is no tenant {tenant_id[:60]!r}; fix the header {TENANT}, or leave it out"
            raise protocol.BadRequest(message, ErrorCode.UNKNOWN_TENANT)

    def _allowance(self, viewer: Viewer, client: str) -> Allowance:
        return self.request_limits.allowance(viewer, client) if self.request_limits else UNLIMITED

    def context_of(self, viewer: Viewer, client_address: str = "", key: str | None = None) -> RequestContext:
        """The context of a request by this viewer."""
        usage = Usage.lasting(self.settings.request_timeout)
        viewer = replace(viewer, hidden_accounts=self.hidden_accounts.ids)
        client = subject(client_address)
        return RequestContext(
            load=Loaders(self.table.using(usage), viewer, shared=self.shared_reads, required=required_of),
            tokens=self.tokens,
            passwords=self.passwords,
            mail=self.mail,
            email_codes=self.email_codes,
            security_counts=self.security_counts,
            views=self.views,
            hidden_accounts=self.hidden_accounts,
            viewer_states=self.viewer_states,
            client_address=client,
            options=self.options,
            search_index=self.search_index,
            allowance=self._allowance(viewer, client),
            command_limits=self.command_limits,
            cursors=self.cursors,
            idempotency_key=self.idempotency_keys.of(key) if key else None,
        )


def _idempotency_key(headers: list[str]) -> str | None:
    try:
        return idempotency.key_in(headers)
    except ValueError as error:
        raise protocol.BadRequest(str(error)) from None
