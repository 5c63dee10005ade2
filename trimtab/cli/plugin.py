"""One plug-in: a new one, and the tests of one."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

GROUP = "Plug-ins"
NAMESPACE = "plugin"


@task(
    help={
        "name": "what it is called, which is its folder's name",
        "op": "its operator, in snake_case",
        "format": "of the models whose layers its parser reads: caffe, onnx, ncnn, ...",
        "output": "folder to make it in (default: here)",
    }
)
def new(_: Context, name: str, op: str, format: str = "onnx", output: str = ".") -> None:
    """Write a plug-in that builds and passes its tests, to be changed into yours."""
    from trimtab.plugin_kit import scaffold as plugin_new

    folder = plugin_new.write(name, op, format, output)
    print(f"{folder}: a plug-in with the operator {op}\nnext: ./inv plugin.test {folder}")


@task(
    iterable=["device"],
    help={
        "folder": "the plug-in",
        "device": "where to run the cases beside this machine (repeatable; default: qemu-a53 and "
        "qemu-armv7)",
        "json": "as JSON on standard output",
    },
)
def test(_: Context, folder: str, device: list[str], json: bool = False) -> None:  # noqa: PT028
    """Run the cases of a plug-in's operators here and on devices, against their oracles."""
    from trimtab import plugins

    plugins.add(folder, "plugin.test")  # before what looks up operators is imported

    from trimtab.build import host_build
    from trimtab.cli._progress import shown
    from trimtab.plugin_kit import cases as plugin_test

    progress = shown(quiet=json)
    plugin = plugin_test.find(folder)
    host_build.build_engine(progress)
    outcomes = plugin_test.run(plugin, device or plugin_test.EMULATED, progress)
    table = plugin_test.table(outcomes)
    print(table.json() if json else table.text())
    if any(outcome.wrong for outcome in outcomes):
        raise Exit(code=1)
