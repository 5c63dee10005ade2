"""Measuring a built binary on a device: protocol, statistics, results and their index."""
