"""Handlers of ONNX operators, one module per family; modules are found by their file names."""
