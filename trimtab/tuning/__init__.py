"""Tuning: a plan whose decisions are measured on the device, operator by operator.

The planner lists alternatives (`trimtab.planner.alternatives`), a clock times them inside of the
network, and `search` changes what is measurably faster. docs/tuning.md describes the procedure.
"""
