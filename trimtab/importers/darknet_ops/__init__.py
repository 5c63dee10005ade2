"""How Darknet's sections become operators of the engine: one module per family, found by name."""
