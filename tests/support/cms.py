"""Test data for the CMS: a tenant, its staff and its content."""

from typing import Any, TypeVar

from datastore.accounts import Unique
from datastore.cms import AuditEntry, Content, ContentStatus, ContentVersion, Route, Tenant
from datastore.model.entity import Entity
from loaders.viewer import Viewer
from tests.support.graph import Graph
from tests.support.social import minute

E = TypeVar("E", bound=Entity)


def staff(role: str, tenant_id: str = "acme", name: str = "ada") -> Viewer:
    """Returns a viewer with a role in a tenant, in a request for that tenant."""
    return Viewer(f"id-{name}", tenant_id=tenant_id, tenants=frozenset({(tenant_id, role)}))


def visitor(tenant_id: str = "acme") -> Viewer:
    return Viewer(tenant_id=tenant_id)


EDITOR, ADMIN, READER, VISITOR = staff("editor"), staff("admin"), staff("viewer"), visitor()
STRANGER = Viewer("id-eve", tenant_id="acme", tenants=frozenset({("other", "admin")}))
"""A staff member of another tenant, in a request for this one."""


def command(name: str, fields: str) -> str:
    """Returns a mutation that takes `$input`."""
    kind = name[0].upper() + name[1:]
    return (
        f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {fields} problems {{ code message path }} }} }}"
    )


def codes(payload: dict[str, Any]) -> list[tuple[str, ...]]:
    """Returns the problems of a payload, without their messages."""
    return [(problem["code"], *problem["path"][1:]) for problem in payload["problems"]]


async def audited(graph: Graph, tenant_id: str = "acme") -> list[AuditEntry]:
    """Returns the audit log of a tenant, oldest first."""
    listed = await graph.table.query(AuditEntry.within(tenant_id=tenant_id), limit=100)
    whole = await graph.table.get_many([entry.own_key for entry in listed.records]) if listed.records else {}
    return [entry for entry in whole.values() if isinstance(entry, AuditEntry)]


class Website:
    """Writes records directly to the table, as the commands would store them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made = 0

    def _times(self) -> dict[str, Any]:
        self._made += 1
        moment = minute(self._made)
        return {"created_at": moment, "updated_at": moment}

    async def tenant(self, tenant_id: str = "acme", *domains: str, **fields: Any) -> Tenant:
        first = domains[0] if domains else None
        given = {"tenant_id": tenant_id, "name": tenant_id.title(), "domain": first, "domains": [*domains]}
        tenant = Tenant(**{**given, **self._times(), **fields})
        await self._put(tenant, *(Unique(kind="domain", value=name, owner_id=tenant_id) for name in domains))
        return tenant

    async def content(self, tenant_id: str = "acme", versions: int = 1, **fields: Any) -> Content:
        """Adds content with all its versions and its route."""
        times = self._times()
        node_id = fields.get("node_id", f"node{self._made:05d}")
        common = {
            "tenant_id": tenant_id,
            "node_id": node_id,
            "content_type": "page",
            "title": f"Page {self._made}",
            "status": ContentStatus.PUBLISHED,
            "author_id": "id-ada",
        }
        slug = fields.pop("slug", f"/page-{self._made}")
        made = {**common, **times, **fields}
        earlier = [
            ContentVersion(
                **{
                    **made,
                    "version": number,
                    "title": f"{made['title']} v{number}",
                    "blocks": [{"text": f"Version {number}."}],
                    "updated_at": minute(1_000 + number),
                }
            )
            for number in range(1, versions)
        ]
        latest = {"version": versions, "blocks": [{"text": f"Version {versions}."}], "slug": slug}
        if versions > 1:
            latest["updated_at"] = minute(1_000 + versions)
        content = Content(**{**made, **latest, **fields})
        route = Route(tenant_id=tenant_id, slug=slug, node_id=node_id, **times) if slug else None
        await self._put(content, *earlier, *([route] if route else []))
        return content

    async def thing(self, entity: type[E], tenant_id: str = "acme", **fields: Any) -> E:
        """Adds any other entity, with defaults for its required fields."""
        times = self._times()
        made_up = {
            entity.key_holes[-1]: f"thing{self._made:05d}",
            "title": f"Thing {self._made}",
            "kind": "note",
            "url": f"https://example.org/{self._made}",
            "author_name": f"Person {self._made}",
            "body": "Nice.",
            "email": f"person{self._made}@example.org",
        }
        needed = {
            name: value for name, value in made_up.items() if name in entity.fields and entity.fields[name].required
        }
        record = entity(**{"tenant_id": tenant_id, **needed, **times, **fields})
        await self._put(record)
        return record

    async def _put(self, *records: Entity) -> None:
        await self.graph.table.batch_write(puts=records)
