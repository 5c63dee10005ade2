"""How ONNX operators become operators of the engine: one module per family, found by file name."""
