"""Models the inner loops of kernels with llvm-mca."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task

NAMESPACE = "bench"


@task(
    help={
        "cpu": "core to build for, e.g. cortex-a53 (docs/cores.md)",
        "json": "print JSON",
        "check": "fail when a figure is more than 2 % above the committed one",
        "update": "write the figures to lab/mca/",
    }
)
def mca(
    _: Context,
    cpu: str = "cortex-a53",
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Model the inner loops on cores known to LLVM: share of the FMA pipes' bound (llvm-19)."""
    from lab import committed
    from lab.mca import loops
    from trimtab.cli._progress import shown

    progress = shown(quiet=json)
    modeled = loops.model(cpu, progress)
    table = loops.table(modeled)
    print(table.json() if json else table.text())
    results = loops.to_results(modeled, f"./inv bench.mca --cpu {cpu} --update")
    committed.hold(loops.BASELINE, results, check, update, progress)
