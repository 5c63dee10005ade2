"""Times kernels and operators beside the limits of this machine, measured in the same run.

The limits are the multiply-adds per second of an instruction set, and the bytes per second of the
memory level that holds a layer's data (roofline model: Williams, Waterman & Patterson 2009).
"""
