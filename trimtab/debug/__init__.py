"""Where a network goes wrong on a device: operator by operator (docs/debugging.md)."""
