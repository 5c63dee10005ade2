"""Blocks of pages that are generated from the sources, not from an experiment's results."""
