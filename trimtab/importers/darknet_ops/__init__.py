"""Handlers of Darknet sections, one module per family; modules are found by their file names."""
