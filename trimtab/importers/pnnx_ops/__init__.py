"""How PNNX's operators become those of the engine: one module per family, found by file name."""
