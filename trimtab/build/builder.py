"""Builds: toolchain + profile -> CMake and ninja -> a folder with everything that is shipped.

A build tree lives in the cache under a key of toolchain, core and profile, so that after a change
of one operator only its file is compiled again. What the user gets is delivered from there in one
step: a folder is complete, or it is not there.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import trimtab
from trimtab import files, kernels, paths, plugins, schema
from trimtab.build import cmake_runner, elf_strip, toolchain
from trimtab.cores import Core
from trimtab.engine import is_python, provider_of
from trimtab.errors import BuildError, PluginError, UsageError
from trimtab.profile import Profile, find_profile
from trimtab.progress import SILENT, Progress
from trimtab.target import Target

RECORD = "build.json"
RECORD_FORMAT = 1
BUILD_TYPES = ("Release", "Debug")
# The least code that a compiler makes, as CMake's list; zig spells -Oz as -Os.
_SMALLEST = {"zig": "-Os;-Xclang;-Oz", "ndk": "-Oz", "gcc": "-Os"}
_ELSEWHERE = "name another folder with --output"
CACHE_HINT = "set TRIMTAB_CACHE_DIR to a folder with room"


@dataclass(frozen=True)
class BuildRequest:
    """What to build.

    `profile`: a Profile, or the path of its file. `model`: a .ttm file to deliver beside the
    runner, or inside it with `embed_model`; `kernels`: those of the profile that its plan names.
    `example`: deliver examples/face_detector, too, ready to compile.
    `cpu`: a core such as `cortex-a53`, None for any machine of the architecture. `build_type`:
    Release or Debug. `shared`: the folder is also a prefix with libtrimtab.so, its headers, and
    what CMake and pkg-config find it by.
    """

    profile: Profile | Path
    output_dir: Path
    toolchain: str = "host"
    cpu: str | None = None
    model: Path | None = None
    kernels: tuple[str, ...] = ()
    embed_model: bool = False
    example: bool = False
    build_type: str = "Release"
    shared: bool = False


@dataclass(frozen=True)
class Build:
    """What a build delivered. Paths are inside `output_dir`; `record` is the content of build.json.

    `unstripped` has the code of `runner` with its symbols, `link_map` says which object every byte
    came from. `model` is None when no model was given or when it is inside the runner.
    """

    output_dir: Path
    runner: Path
    library: Path
    header: Path
    model: Path | None
    unstripped: Path
    link_map: Path
    record: dict[str, Any]

    @property
    def compiler(self) -> str:
        """Name and version of the compiler."""
        return str(self.record["compiler"])

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that operators were compiled with."""
        return tuple(self.record["flags"]["compile"])


def build(request: BuildRequest, progress: Progress = SILENT) -> Build:
    """Builds and delivers into `request.output_dir`.

    Raises ToolchainError (unknown, or no compiler), ProfileError, UsageError (options that do not
    fit together) and BuildError (compiler, linker, disk), which names the log file. On any error
    the output folder is as it was before.
    """
    chosen = toolchain.find_toolchain(request.toolchain)
    profile = (
        request.profile
        if isinstance(request.profile, Profile)
        else find_profile(str(request.profile))
    )
    profile.kernels_for(chosen.arch)
    _check(request)
    _check_functions(profile)
    if request.shared and "-static" in chosen.link_flags:
        raise UsageError(
            "its binaries are static, which load no shared library",
            where=f"toolchain {chosen.name}",
            hint="aarch64-linux-gnu or another dynamic one; or link the libtrimtab.a of a build",
        )
    cmake_file = toolchain.cmake_file(chosen, request.cpu)
    target = Target.of(chosen.arch, request.cpu)
    if not target.core.is_generic:
        profile = profile.narrowed(chosen.arch, target.isas, request.kernels)
    tree = paths.cache() / "build" / _key(request, target.core, profile, cmake_file)
    # What is not a micro-kernel runs a hundredth of the time: small matters more there. Without a
    # level of its own, -O3 for an in-order core unrolls it to more than twice the size.
    optimization = "-Os" if chosen.device else "-O2"
    once = _SMALLEST[chosen.compiler] if chosen.device else optimization
    if request.build_type == "Debug":
        optimization = once = "-O0"
    with files.locked(tree / ".lock", error=BuildError, hint=CACHE_HINT):
        profile_file = tree / "profile" / f"{_safe(profile.name)}.toml"
        files.write_if_changed(profile_file, profile.to_toml(), error=BuildError, hint=CACHE_HINT)
        options = {
            "TRIMTAB_PROFILE": str(profile_file),
            "TRIMTAB_OPTIMIZE": optimization,
            "TRIMTAB_OPTIMIZE_ONCE": once,
            "TRIMTAB_OPTIMIZE_KERNELS": "-Os" if profile.small else "-O3",
        }
        targets = ["trimtab", "trimtab-run"]
        if request.shared:
            options["TRIMTAB_SHARED"] = "ON"
            targets.append("trimtab-shared")
        if request.embed_model and request.model:
            # A fixed name inside the tree, so that another model means a new link and not a new
            # configuration.
            options["TRIMTAB_EMBED_MODEL"] = str(tree / "embedded.ttm")
            files.copy_if_changed(
                request.model, tree / "embedded.ttm", error=BuildError, hint=CACHE_HINT
            )
        command = configure_command(tree, cmake_file, request.build_type, options)
        title = f"build for {chosen.name}, profile {profile.name}"
        times = cmake_runner.run(tree, command, targets, title, progress=progress)
        record = _record(request, profile, chosen, target.core, tree, times)
        return _deliver(request, tree, record)


def configure_command(
    tree: Path, cmake_file: Path, build_type: str, options: dict[str, str]
) -> list[str]:
    """The command line that configures a build tree; PluginError for operators and kernels of a
    plug-in that was asked for. The configure step leaves wrong ones out, and nobody sees it.
    """
    if plugins.for_builds():
        schema.operators()
        kernels.inventory()
    definitions = {
        "CMAKE_TOOLCHAIN_FILE": str(cmake_file),
        "CMAKE_BUILD_TYPE": build_type,
        "CMAKE_MAKE_PROGRAM": cmake_runner.ninja(),
        "Python3_EXECUTABLE": sys.executable,
        "TRIMTAB_PLUGINS": ";".join(str(plugin.folder) for plugin in plugins.for_builds()),
        **options,
    }
    command = [cmake_runner.cmake(), "-S", str(paths.root()), "-B", str(tree), "-G", "Ninja"]
    return command + [f"-D{key}={value}" for key, value in definitions.items()]


def _check(request: BuildRequest) -> None:
    if request.build_type not in BUILD_TYPES:
        raise UsageError(
            f"unknown build type {request.build_type!r}",
            hint=f"use one of {', '.join(BUILD_TYPES)}",
        )
    if request.embed_model and request.model is None:
        raise UsageError("there is no model to embed", hint="name one with --model")
    if request.model is not None and not request.model.is_file():
        raise UsageError("the model file does not exist", where=str(request.model))
    _check_output(request.output_dir)


def _check_functions(profile: Profile) -> None:
    """PluginError for operators that functions of Python compute: no binary runs these."""
    run_time = [op for op in profile.operators() if op.run_time]
    places = {op.name: provider_of(op.id) for op in run_time}
    functions = {name: place for name, place in places.items() if is_python(place)}
    if functions:
        told = ", ".join(f"{name} ({place})" for name, place in functions.items())
        raise PluginError(
            f"functions of Python compute, and no binary can: {told}",
            where=f"profile {profile.name}",
            hint="write ops/NAME.cpp, and leave run_time = true out of its schema; or a shared"
            " library, docs/run-time-plugins.md, and name it in place of the function",
        )


def _check_output(output: Path) -> None:
    """A delivery replaces the whole folder, so nothing in it may be anybody else's."""
    if not output.exists():
        return
    if not output.is_dir():
        raise BuildError(
            "the output is a file, not a folder",
            where=str(output),
            hint=_ELSEWHERE,
        )
    present = {str(path.relative_to(output)) for path in output.rglob("*") if not path.is_dir()}
    if foreign := sorted(present - _delivered(output)):
        raise BuildError(
            f"the output folder holds a file that no build put there: {foreign[0]}",
            where=str(output),
            hint=f"move it away, or {_ELSEWHERE}",
        )


def _delivered(output: Path) -> set[str]:
    """The files of an earlier delivery, by its record."""
    try:
        files = json.loads((output / RECORD).read_text(encoding="utf-8"))["files"]
        return {*map(str, files), RECORD}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _key(request: BuildRequest, core: Core, profile: Profile, cmake_file: Path) -> str:
    """Name of the build tree: readable, then whatever asks for another configuration."""
    shared = sorted((paths.root() / "toolchains/cmake").glob("*.cmake"))
    facts = [
        str(paths.root()),
        sys.executable,
        profile.digest(),
        request.build_type,
        str(request.embed_model),
        *(["shared"] if request.shared else []),
    ]
    facts += [path.read_text(encoding="utf-8") for path in (cmake_file, *shared)]
    digest = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:12]
    return f"{request.toolchain}-{core.name}-{_safe(profile.name)}-{digest}"


def _safe(name: str) -> str:
    """`name` as part of a file name."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:60] or "unnamed"


def _record(
    request: BuildRequest,
    profile: Profile,
    chosen: toolchain.Toolchain,
    core: Core,
    tree: Path,
    times: dict[str, float],
) -> dict[str, Any]:
    """Everything of build.json but the delivered files."""
    model = None
    if request.model is not None:
        model = {
            "name": request.model.name,
            "sha256": files.sha256(request.model),
            "embedded": request.embed_model,
        }
    contents = json.loads((tree / "contents.json").read_text(encoding="utf-8"))
    return {
        "format": RECORD_FORMAT,
        "trimtab": trimtab.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": _git_revision(),
        "toolchain": chosen.name,
        "arch": chosen.arch,
        "cpu": core.name,
        "build_type": request.build_type,
        "compiler": _compiler(chosen, tree),
        "flags": cmake_runner.flags(tree),
        "profile": {"name": profile.name, "digest": profile.digest()},
        "operators": contents["ops"],
        "kernels": contents["kernels"],
        "schema": f"{schema.schema_hash():016x}",
        "model": model,
        "times_s": times,
    }


def _compiler(chosen: toolchain.Toolchain, tree: Path) -> str:
    version = cmake_runner.compiler_version(tree)
    return f"zig {metadata.version('ziglang')} ({version})" if chosen.compiler == "zig" else version


def _git_revision() -> str | None:
    """Commit of the checkout, with `+` when tracked files differ from it; None without one."""
    if not paths.is_checkout():
        return None
    git = ["git", "-C", str(paths.root())]
    try:
        commit = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        dirty = subprocess.run(
            [*git, "diff", "--quiet", "HEAD"], capture_output=True, check=False
        ).returncode
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if dirty else "")


def _install(tree: Path, prefix: Path) -> list[str]:
    """Makes `prefix` one with the shared library; the files that are new in it."""
    before = {path for path in prefix.rglob("*") if not path.is_dir()}
    command = [cmake_runner.cmake(), "--install", str(tree), "--component", "shared"]
    done = subprocess.run(
        [*command, "--prefix", str(prefix)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BuildError(f"cmake --install: {done.stderr.strip()}", where=str(prefix))
    after = {path for path in prefix.rglob("*") if not path.is_dir()}
    return sorted(str(path.relative_to(prefix)) for path in after - before)


def _deliver(request: BuildRequest, tree: Path, record: dict[str, Any]) -> Build:
    """Fills a folder beside the output and puts it in its place with a rename."""
    output = request.output_dir.absolute()
    delivered = {
        "libtrimtab.a": tree / "libtrimtab.a",
        "trimtab.h": paths.root() / "runtime/api/trimtab.h",
        "debug/trimtab-run.full": tree / "trimtab-run",
        "debug/trimtab-run.map": tree / "trimtab-run.map",
    }
    if any(schema.operator(name).run_time for name in record["operators"]):
        delivered["trimtab_plugin.h"] = paths.root() / "runtime/api/trimtab_plugin.h"
    model = None
    if request.model is not None and not request.embed_model:
        model = f"{request.model.stem}.ttm"
        delivered[model] = request.model
    if request.example:
        sources = (paths.root() / "examples" / "face_detector").iterdir()
        delivered |= {f"example/{path.name}": path for path in sorted(sources) if path.is_file()}
    with files.replacing_folder(output, error=BuildError, hint=_ELSEWHERE) as fresh:
        for folder in {Path(name).parent for name in delivered}:
            (fresh / folder).mkdir(exist_ok=True)
        for name, source in delivered.items():
            shutil.copy(source, fresh / name)
        runner = fresh / "trimtab-run"
        files.write_bytes(runner, elf_strip.strip((tree / "trimtab-run").read_bytes()), mode=0o755)
        installed = _install(tree, fresh) if request.shared else []
        facts = {
            name: {"bytes": (fresh / name).stat().st_size, "sha256": files.sha256(fresh / name)}
            for name in (runner.name, *delivered, *installed)
        }
        record = {**record, "files": facts}
        files.write_text(fresh / RECORD, json.dumps(record, indent=1) + "\n")
        _check_output(output)
    return Build(
        output_dir=output,
        runner=output / "trimtab-run",
        library=output / "libtrimtab.a",
        header=output / "trimtab.h",
        model=output / model if model else None,
        unstripped=output / "debug/trimtab-run.full",
        link_map=output / "debug/trimtab-run.map",
        record=record,
    )
