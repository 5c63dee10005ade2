"""Emitters of ONNX nodes, one module per family; modules are found by their file names."""
