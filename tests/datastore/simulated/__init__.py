"""DynamoDB and its streams in memory, with faults, on a clock that does not wait."""
