"""Measures a built binary on a device: schedule, runner protocol, output check, and records."""
