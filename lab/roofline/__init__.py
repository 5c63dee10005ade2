"""How near kernels and operators come to the limits of this machine, measured in the same run.

The limits are the multiply-adds per second of an instruction set, and the bytes per second of the
memory that a layer's data fit in (the roofline model: Williams, Waterman & Patterson 2009).
"""
