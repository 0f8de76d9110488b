"""Visibility of the bookkeeping of maintenance."""

from datastore.maintenance.records import Migration, SchemaState, SetAside
from loaders.visibility import never_shown

never_shown(Migration, SchemaState, SetAside, because="only operators read the bookkeeping of maintenance")
