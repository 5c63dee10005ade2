"""Shared translations: one sequence of engine operators for each operation of the formats.

All handlers use these functions, so that a network becomes the same program from every format. A
function takes the layer that gets the operators, and its operands.
"""
