"""The operator of a network that goes wrong on a device, and why (docs/debugging.md)."""
