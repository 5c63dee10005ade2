"""Handlers of PNNX operators, one module per family; modules are found by their file names."""
