"""Chooses the search engine by the settings: an index on each machine, or OpenSearch."""

from datastore.changes.leases import Leases
from datastore.client.errors import Denied
from datastore.local.settings import TableSettings
from resolvers.search.embedded import EmbeddedEngine
from resolvers.search.engine import SearchEngine
from resolvers.search.opensearch import OpenSearchEngine
from resolvers.search.opensearch_client import AwsSigning, OpenSearchClient, region_of


def engine_for(settings: TableSettings, leases: Leases) -> SearchEngine:
    if settings.opensearch_url is None:
        return EmbeddedEngine(settings.search_folder)
    return opensearch_for(settings, leases)


def opensearch_for(settings: TableSettings, leases: Leases | None) -> OpenSearchEngine:
    """Returns the engine of OPENSEARCH_URL."""
    assert settings.opensearch_url is not None
    client = OpenSearchClient(settings.opensearch_url, signing_for(settings))
    return OpenSearchEngine(client, settings.search_name, leases)


def signing_for(settings: TableSettings) -> AwsSigning | None:
    """Returns what signs requests for AWS, or None for another service."""
    found = region_of(settings.opensearch_url or "")
    if settings.opensearch_aws == "off" or (settings.opensearch_aws == "auto" and found is None):
        return None
    region = found or settings.aws_region
    if region is None:
        raise Denied("OPENSEARCH_AWS is on, but the region is not known: set AWS_REGION")
    # Loaded only where it is needed: that takes a while.
    from botocore.session import get_session

    from datastore.client.credentials import RenewedCredentials

    credentials = get_session().get_credentials()
    if credentials is None:
        raise Denied("no AWS credentials found for OPENSEARCH_URL; configure them or set OPENSEARCH_AWS=off")
    return AwsSigning(RenewedCredentials(credentials), region)
