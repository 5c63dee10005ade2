"""Builds a runner and library for a toolchain, core and profile, and delivers them to a folder.

A build tree lives in the cache under a key of toolchain, core and profile, so that a change of one
operator recompiles only its file. The delivery is atomic: the output folder is complete or
unchanged.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from trimtab import __version__, files, kernels, paths, plugins, schema, strict_json
from trimtab.build import cmake_runner, elf_strip, toolchain
from trimtab.build.output import ELSEWHERE, RECORD, check_output
from trimtab.cores import Core
from trimtab.engine import is_python, provider_of
from trimtab.errors import BuildError, PluginError, UsageError
from trimtab.profile import Profile, find_profile
from trimtab.progress import SILENT, Progress
from trimtab.target import Target

RECORD_FORMAT = 1
BUILD_TYPES = ("Release", "Debug")
SOURCE = "source"  # the link to the sources in a build tree
# Options of a request, and the switches of CMakeLists.txt that they turn on.
_SWITCHES = {
    "shared": "TRIMTAB_SHARED",
    "paced": "TRIMTAB_PACED",
    "tensors": "TRIMTAB_TENSORS",
    "trains": "TRIMTAB_TRAIN",
    "takes_images": "TRIMTAB_FRAMES",
    "pictures": "TRIMTAB_PICTURES",
    "keeps_states": "TRIMTAB_STATES",
}
# The optimization level with the smallest code, as a CMake list. zig passes -Oz on as -Os.
_SMALLEST = {"zig": "-Os;-Xclang;-Oz", "ndk": "-Oz", "gcc": "-Os"}
LINK_MAP = "debug/trimtab-run.map"
CACHE_HINT = "set TRIMTAB_CACHE_DIR to a folder with free space"


@dataclass(frozen=True)
class BuildRequest:
    """The options of a build.

    `profile`: a Profile, or the path of its file. `model`: a .ttm file to deliver beside the
    runner, or inside it with `embed_model`; `kernels`: the kernels that its plan names. `texts`:
    more files to deliver, by their path in the folder. `made_from`: the recipe for the record.
    `cpu`: a core such as `cortex-a53`, None for any machine of the architecture. `build_type`:
    Release or Debug. `paced`: the runner can take frames at a fixed rate; `tensors`: it can write
    the results of operators; `trains`: runner and
    library make steps of a training. `takes_images`: the runner has `--image`; `pictures`: also for
    JPEG and PNG files. `keeps_states`: the library can reset the states that the model keeps
    between runs. `shared`: also install libtrimtab.so, its headers and its CMake targets into the
    folder.
    """

    profile: Profile | Path
    output_dir: Path
    toolchain: str = "host"
    cpu: str | None = None
    model: Path | None = None
    kernels: tuple[str, ...] = ()
    embed_model: bool = False
    texts: Mapping[str, str | bytes] = field(default_factory=dict)
    made_from: Mapping[str, Any] = field(default_factory=dict)
    build_type: str = "Release"
    paced: bool = False
    tensors: bool = False
    trains: bool = False
    takes_images: bool = False
    pictures: bool = False
    keeps_states: bool = False
    shared: bool = False


@dataclass(frozen=True)
class Build:
    """The files of a delivery. Paths are inside `output_dir`; `record` is the content of
    build.json.

    `unstripped`: the runner with its symbols; `link_map`: the origin of every byte of it. `model`
    is None if there is no model or it is embedded in the runner.
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

    Raises ToolchainError (unknown toolchain, missing compiler), MissingRequirementError (without
    the decoder of pictures), ProfileError, UsageError (conflicting options) and BuildError
    (compiler, linker, disk; it names the log file). After an error the output folder is unchanged.
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
    if request.shared and "-static" in chosen.flags.link:
        raise UsageError(
            "its binaries are static and cannot load a shared library",
            where=f"toolchain {chosen.name}",
            hint="use aarch64-linux-gnu or another dynamic toolchain, or link libtrimtab.a",
        )
    cmake_file = toolchain.cmake_file(chosen, request.cpu)
    target = Target.of(chosen.arch, request.cpu)
    if not target.core.is_generic:
        profile = profile.narrowed(chosen.arch, target.isas, request.kernels)
    tree = paths.cache() / "build" / _key(request, target.core, profile, cmake_file)
    with files.locked(tree / ".lock", error=BuildError, hint=CACHE_HINT):
        profile_file = tree / "profile" / f"{_safe(profile.name)}.toml"
        files.write_if_changed(profile_file, profile.to_toml(), error=BuildError, hint=CACHE_HINT)
        options = {
            "TRIMTAB_PROFILE": str(profile_file),
            **optimization_levels(chosen, request.build_type, small=profile.small),
        }
        options |= {switch: "ON" for name, switch in _SWITCHES.items() if getattr(request, name)}
        targets = ["trimtab", "trimtab-run", *(["trimtab-shared"] if request.shared else [])]
        if request.embed_model and request.model:
            # The name inside the tree is constant, so that another model needs a new link only, and
            # no new configuration.
            options["TRIMTAB_EMBED_MODEL"] = str(tree / "embedded.ttm")
            files.copy_if_changed(
                request.model, tree / "embedded.ttm", error=BuildError, hint=CACHE_HINT
            )
        command = configure_command(tree, cmake_file, request.build_type, options)
        title = f"build for {chosen.name}, profile {profile.name}"
        times = cmake_runner.run(tree, command, targets, title, progress=progress)
        record = _record(request, profile, chosen, target.core, tree, times)
        return _deliver(request, tree, record)


def optimization_levels(
    chosen: toolchain.Toolchain, build_type: str = "Release", *, small: bool = False
) -> dict[str, str]:
    """CMake definitions of the optimization levels: core, code that runs once, kernels.

    Code other than micro-kernels takes a hundredth of the time, so its size matters more. With the
    level of the kernels, -O3, in-order cores would unroll it to more than twice the size.
    """
    core = "-O0" if build_type == "Debug" else "-Os" if chosen.device else "-O2"
    return {
        "TRIMTAB_OPTIMIZE": core,
        "TRIMTAB_OPTIMIZE_ONCE": _SMALLEST[chosen.compiler] if core == "-Os" else core,
        "TRIMTAB_OPTIMIZE_KERNELS": "-Os" if small else "-O3",
    }


def configure_command(
    tree: Path, cmake_file: Path, build_type: str, options: dict[str, str]
) -> list[str]:
    """The command line that configures a build tree.

    The tree links to the sources, so that commands name them by a path inside of the tree: the
    compile cache then finds objects of other checkouts (`toolchain.cmake_file`).

    PluginError for invalid operators and kernels of a requested plug-in: the configure step would
    exclude them silently.
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
    source = files.link_folder(tree / SOURCE, paths.root(), error=BuildError, hint=CACHE_HINT)
    command = [cmake_runner.cmake(), "-S", str(source), "-B", str(tree), "-G", "Ninja"]
    return command + [f"-D{key}={value}" for key, value in definitions.items()]


def _check(request: BuildRequest) -> None:
    if request.build_type not in BUILD_TYPES:
        raise UsageError(
            f"unknown build type {request.build_type!r}",
            hint=f"use one of {', '.join(BUILD_TYPES)}",
        )
    if request.embed_model and request.model is None:
        raise UsageError("there is no model to embed", hint="add --model")
    if request.model is not None and not request.model.is_file():
        raise UsageError("the model file does not exist", where=str(request.model))
    check_output(request.output_dir)


def _check_functions(profile: Profile) -> None:
    """PluginError for operators that are Python functions, which a binary cannot run."""
    run_time = [op for op in profile.operators() if op.run_time]
    places = {op.name: provider_of(op.id) for op in run_time}
    functions = {name: place for name, place in places.items() if is_python(place)}
    if functions:
        names = ", ".join(f"{name} ({place})" for name, place in functions.items())
        raise PluginError(
            f"a binary cannot run operators that are Python functions: {names}",
            where=f"profile {profile.name}",
            hint="write ops/NAME.cpp and remove run_time = true from its schema, or build a shared"
            " library (docs/run-time-plugins.md) and use it in place of the function",
        )


def _key(request: BuildRequest, core: Core, profile: Profile, cmake_file: Path) -> str:
    """Name of the build tree: a readable part and a hash of everything that is configured."""
    shared = sorted((paths.root() / "toolchains/cmake").glob("*.cmake"))
    facts = [
        str(paths.root()),
        sys.executable,
        profile.digest(),
        request.build_type,
        str(request.embed_model),
        *(name for name in _SWITCHES if getattr(request, name)),
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
    """The content of build.json without the delivered files."""
    model = None
    if request.model is not None:
        model = {
            "name": request.model.name,
            "sha256": files.sha256(request.model),
            "embedded": request.embed_model,
        }
    contents = strict_json.loads((tree / "contents.json").read_text(encoding="utf-8"))
    return {
        "format": RECORD_FORMAT,
        "trimtab": __version__,
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
        "made_from": request.made_from,
        "times_s": times,
    }


def _compiler(chosen: toolchain.Toolchain, tree: Path) -> str:
    version = cmake_runner.compiler_version(tree)
    return f"zig {metadata.version('ziglang')} ({version})" if chosen.compiler == "zig" else version


def _git_revision() -> str | None:
    """The commit of the checkout, with `+` if tracked files are modified, or None."""
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


def _install(tree: Path, prefix: Path, component: str) -> list[str]:
    """Installs a component of the build tree into `prefix`; returns the new files."""
    before = {path for path in prefix.rglob("*") if not path.is_dir()}
    command = [cmake_runner.cmake(), "--install", str(tree), "--component", component]
    result = subprocess.run(
        [*command, "--prefix", str(prefix)], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise BuildError(f"cmake --install: {result.stderr.strip()}", where=str(prefix))
    after = {path for path in prefix.rglob("*") if not path.is_dir()}
    return sorted(str(path.relative_to(prefix)) for path in after - before)


def _deliver(request: BuildRequest, tree: Path, record: dict[str, Any]) -> Build:
    """Fills a folder beside the output folder and renames it."""
    output = request.output_dir.absolute()
    delivered = {
        "libtrimtab.a": tree / "libtrimtab.a",
        "trimtab.h": paths.root() / "runtime/api/trimtab.h",
        "debug/trimtab-run.full": tree / "trimtab-run",
    }
    if any(schema.operator(name).run_time for name in record["operators"]):
        delivered["trimtab_plugin.h"] = paths.root() / "runtime/api/trimtab_plugin.h"
    model = None
    if request.model is not None and not request.embed_model:
        model = f"{request.model.stem}.ttm"
        delivered[model] = request.model
    with files.replacing_folder(output, error=BuildError, hint=ELSEWHERE) as fresh:
        for folder in {Path(name).parent for name in (*delivered, *request.texts)}:
            (fresh / folder).mkdir(exist_ok=True)
        for name, source in delivered.items():
            shutil.copy(source, fresh / name)
        for name, text in request.texts.items():
            data = text if isinstance(text, bytes) else text.encode()
            files.write_bytes(fresh / name, data)
        files.write_bytes(fresh / LINK_MAP, _link_map(tree))
        runner = fresh / "trimtab-run"
        files.write_bytes(runner, elf_strip.strip((tree / "trimtab-run").read_bytes()), mode=0o755)
        installed = _install(tree, fresh, "package")
        if request.shared:
            installed += _install(tree, fresh, "shared")
        facts = {
            name: {"bytes": (fresh / name).stat().st_size, "sha256": files.sha256(fresh / name)}
            for name in (runner.name, *delivered, LINK_MAP, *request.texts, *installed)
        }
        record = {**record, "files": facts}
        files.write_text(fresh / RECORD, strict_json.dumps(record, indent=1) + "\n")
        check_output(output)
    return Build(
        output_dir=output,
        runner=output / "trimtab-run",
        library=output / "libtrimtab.a",
        header=output / "trimtab.h",
        model=output / model if model else None,
        unstripped=output / "debug/trimtab-run.full",
        link_map=output / LINK_MAP,
        record=record,
    )


def _link_map(tree: Path) -> bytes:
    """The map of a runner, without the folders of zig's cache, which differ between machines."""
    text = (tree / "trimtab-run.map").read_bytes()
    for cache in (paths.zig_cache(), paths.zig_cache().resolve()):
        text = re.sub(re.escape(str(cache).encode()) + rb"/o/[0-9a-f]{32}/", b"", text)
    return text
