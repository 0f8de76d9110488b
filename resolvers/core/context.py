"""The context that commands get."""

from dataclasses import dataclass, field

from loaders.request import Loaders
from loaders.viewer import Viewer
from resolvers.accounts.email_codes import EmailCodes
from resolvers.accounts.hidden_accounts import HiddenAccounts
from resolvers.accounts.passwords import Passwords
from resolvers.accounts.security_counts import SecurityCounts
from resolvers.accounts.tokens import Tokens
from resolvers.accounts.viewer_states import ViewerStates
from resolvers.background.mail import Mail
from resolvers.cards.view_counter import Views
from resolvers.core.access import unauthenticated
from resolvers.core.allowance import UNLIMITED, Allowance
from resolvers.core.command_limits import UNCOUNTED, CommandLimits
from resolvers.core.options import Options
from resolvers.search.index import SearchIndex


@dataclass
class Context:
    """One per request."""

    load: Loaders
    tokens: Tokens
    passwords: Passwords
    mail: Mail
    email_codes: EmailCodes
    security_counts: SecurityCounts
    views: Views
    hidden_accounts: HiddenAccounts
    viewer_states: ViewerStates
    # What limits count by: the client's IPv4 address, or the /64 network of its IPv6 address.
    client_address: str
    options: Options
    search_index: SearchIndex
    # What the request may use, and the limits of single commands.
    allowance: Allowance = field(default=UNLIMITED, kw_only=True)
    command_limits: CommandLimits = field(default=UNCOUNTED, kw_only=True)
    # The name of the command that is running, such as createPost.
    command: str = field(default="", kw_only=True)

    @property
    def viewer(self) -> Viewer:
        return self.load.viewer

    @property
    def signed_in(self) -> str:
        """The viewer's user ID; raises Refused for an anonymous request."""
        if self.viewer.user_id is None:
            raise unauthenticated()
        return self.viewer.user_id
