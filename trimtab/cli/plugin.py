"""One plug-in: scaffold a new one, and test its operators."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from invoke.exceptions import Exit

from trimtab.cli._command import argument, command, option
from trimtab.paths import PROGRAM

GROUP = "Plug-ins"
NAMESPACE = "plugin"


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    """Options of `plugin.new`."""

    name: str = argument("name of the plug-in and of its folder")
    op: str = argument("its operator, in snake_case")
    format: str = option("format of the layers that it parses: caffe, onnx, ncnn, ...", "onnx")
    output: str = option("folder to create it in (default: here)", ".")


@command(NewOptions)
def new(options: NewOptions) -> None:
    """Write a plug-in that builds and passes its tests, as a start for your own."""
    from trimtab.plugin_kit import scaffold

    folder = scaffold.write(options.name, options.op, options.format, options.output)
    print(f"{folder}: a plug-in with the operator {options.op}; its README.md shows how to try it")
    print(f"next: {PROGRAM} plugin.test {shlex.quote(str(folder))}")


@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """Options of `plugin.test`."""

    folder: str = argument("folder of the plug-in")
    device: tuple[str, ...] = option(
        "device to run the cases on, beside this machine (repeatable; default: qemu-a53 and "
        "qemu-armv7)",
        (),
    )
    json: bool = option("print JSON", False)


@command(TestOptions)
def test(options: TestOptions) -> None:
    """Run the cases of a plug-in's operators here and on devices, against their oracles."""
    from trimtab import plugins

    plugins.add(options.folder, "plugin.test")  # before any look-up of operators is imported

    from trimtab.build import host_build
    from trimtab.cli._progress import shown
    from trimtab.plugin_kit import cases

    progress = shown(quiet=options.json)
    plugin = cases.find(options.folder)
    host_build.build_engine(progress)
    outcomes = cases.run(plugin, options.device or cases.EMULATED, progress)
    table = cases.table(outcomes)
    print(table.json() if options.json else table.text())
    if any(outcome.error for outcome in outcomes):
        raise Exit(code=1)
