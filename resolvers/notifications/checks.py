"""Rules of consistency of notifications."""

from datastore.notifications import Notification, NotificationGroup, NotificationPreferences
from resolvers.maintenance.rules import outlives

for _entity in (Notification, NotificationGroup, NotificationPreferences):
    outlives(_entity, because="the staff of a tenant together is a recipient without an account")
