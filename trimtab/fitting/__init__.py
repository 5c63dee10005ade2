"""Fits a core to a machine: times kernels in operators of seeded shapes, and writes its row.

`core.fit` (docs/cores.md) does the steps of these modules: `shapes` draws layers, `bed` makes a
program with every way to compute them, `measure` runs it on a device, `solve` fits the times,
`regret` tells what the fit costs on shapes that it has not seen, and `row` writes the file.
"""
