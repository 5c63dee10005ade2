"""Weight layouts of the micro-kernels, one kernel family per module.

The layouts are those that kernels/kernel_api.h describes; the order of the taps is that in which
the engine's drivers (runtime/ops/window.h, conv_transpose.cpp) hand out pointers.
"""
