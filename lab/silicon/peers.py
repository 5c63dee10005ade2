"""Makes an environment of other engines, from PyPI; plain Python, before trimtab is installed.

    python3 lab/silicon/peers.py FOLDER        then FOLDER/bin/python is for --python

An engine whose packages do not install is left out, with a line that says so: not every one has
wheels for each machine and Python.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ENGINES = {
    "onnxruntime": ["onnxruntime"],
    "ncnn": ["ncnn"],
    "LiteRT": ["ai-edge-litert"],
    "ExecuTorch": ["executorch", "torch"],
}
SECONDS = 150  # for the packages of an engine, of which torch has half a gigabyte
_CPU_TORCH = "https://download.pytorch.org/whl/cpu"  # those of PyPI bring CUDA


def main(folder: Path) -> int:
    """Makes the environment; returns an exit code: 1 if no engine could be installed."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    pip += ["--prefer-binary"]  # one dependency of ExecuTorch has no wheel
    subprocess.run([*pip, "numpy", "onnx"], check=True)
    missing = [name for name, packages in ENGINES.items() if not _installs(pip, name, packages)]
    if _installs([*pip, "--no-deps"], "pnnx, ncnn's converter", ["pnnx"]):
        _link_pnnx(folder)
    return int(len(missing) == len(ENGINES))


def _link_pnnx(folder: Path) -> None:
    """Puts the converter itself in the place of its script, which needs torch for other uses."""
    (program,) = folder.glob("lib/python*/site-packages/pnnx/pnnx")
    program.chmod(0o755)
    script = folder / "bin" / "pnnx"
    script.unlink()
    script.symlink_to(program.resolve())


def _installs(pip: list[str], name: str, packages: list[str]) -> bool:
    """Whether the packages of an engine could be installed; says why not."""
    index = ["--extra-index-url", _CPU_TORCH] if "torch" in packages else []
    try:
        done = subprocess.run(
            [*pip, *index, *packages], capture_output=True, text=True, check=False, timeout=SECONDS
        )
        why = "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2][-300:]
    except subprocess.TimeoutExpired:
        why = f"not installed after {SECONDS} s"
    print(f"{name}: {f'left out: {why}' if why else 'installed'}", flush=True)
    return not why


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: peers.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))
