"""What a command or a computed edge gets to work with."""

from dataclasses import dataclass, field

from loaders.request import Loaders
from loaders.viewer import Viewer
from resolvers.accounts.email_codes import EmailCodes
from resolvers.accounts.passwords import Passwords
from resolvers.accounts.tokens import Tokens
from resolvers.background.mail import Mail
from resolvers.cards.view_counter import Views
from resolvers.cms.audit_log import Audit
from resolvers.core.options import Options
from resolvers.core.problems import ProblemCode, refused


@dataclass
class Context:
    """One request's."""

    load: Loaders
    tokens: Tokens
    passwords: Passwords
    mail: Mail
    email_codes: EmailCodes
    audit: Audit
    views: Views
    client_address: str
    options: Options
    # The name of the command that is running, such as createPost.
    command: str = field(default="", kw_only=True)
    # The cards that this request said somebody looks at.
    viewed: set[str] = field(default_factory=set, kw_only=True)

    @property
    def viewer(self) -> Viewer:
        return self.load.viewer

    @property
    def signed_in(self) -> str:
        """The viewer's user id, or a refusal."""
        if self.viewer.user_id is None:
            raise refused(ProblemCode.UNAUTHENTICATED, "sign in first: send `Authorization: Bearer <token>`")
        return self.viewer.user_id

    def require_admin(self) -> None:
        """A refusal to everybody but system administrators."""
        _ = self.signed_in
        if not self.viewer.is_admin:
            raise refused(ProblemCode.FORBIDDEN, "this takes a token with the role `admin`")
