"""Emitters of ncnn layers, one module per family; modules are found by their file names."""
