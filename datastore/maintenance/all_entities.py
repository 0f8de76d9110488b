"""Imports the modules of all entities: an entity is known when its module is imported."""

import pkgutil
from importlib import import_module

import datastore

for _module in pkgutil.iter_modules(datastore.__path__):
    if not _module.ispkg:
        import_module(f"datastore.{_module.name}")
