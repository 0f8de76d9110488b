"""How an operation is validated, compiled and executed."""
