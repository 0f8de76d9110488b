"""python -m schema: print the schema."""

from schema.build import build

print(build().as_str())
