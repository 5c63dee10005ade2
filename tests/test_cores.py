"""Cores: one contract for every file of `cores/`, users' cores, and the core of this machine."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from tests.some import some
from trimtab import cores, kernels
from trimtab.cores import Core
from trimtab.errors import SchemaError, UsageError
from trimtab.target import Target

ROWS = cores.all_cores()


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of the user's own cores."""
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "cores").mkdir()
    return tmp_path / "cores"


def test_the_promised_cores_are_there() -> None:
    promised = "a5 a7 a8 a9 a15 a17 a32 a35 a53 a55 a57 a72 a73 a75 a76 a77 a78 a510 a710 x1"
    names = {f"cortex-{name}" for name in promised.split()} | {
        *("neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2", "apple-m1", "carmel"),
        *("cortex-a520", "cortex-a720", "cortex-x2", "cortex-x3", "cortex-x4"),
        *("cortex-a725", "cortex-x925", "c1-ultra", "c1-premium", "c1-pro", "c1-nano"),
        *("neoverse-n3", "neoverse-v3", "apple-m2", "apple-m3", "apple-m4"),
        *("haswell", "skylake", "skylake-avx512", "icelake-client", "icelake-server"),
        *("alderlake", "sapphirerapids", "graniterapids", "zen2", "zen3", "zen4", "zen5"),
    }
    assert names <= {core.name for core in ROWS}


@pytest.mark.parametrize("core", ROWS, ids=lambda core: core.name)
def test_a_core_is_complete_and_consistent(core: Core, root: Path) -> None:
    assert core.doc
    assert core.name == cores.spelling(core.name)
    assert core.l1i.bytes <= core.l2.bytes
    assert core.l1d.bytes <= core.l2.bytes
    assert core.l1d.line_bytes == core.l2.line_bytes, "a model of misses assumes one size of line"
    assert core.l1d.shared_by == core.l1i.shared_by == 1
    if core.l3:
        # An L3 may be a victim cache, smaller than the L2s together, but not than a core's part.
        assert core.l3.bytes >= core.l2.bytes * core.l2.shared_by
        assert core.l3.shared_by >= core.l2.shared_by
        assert core.l3.line_bytes == core.l2.line_bytes
    pipes = core.pipes
    assert pipes.loads_per_cycle <= pipes.issue_width
    assert 4 <= pipes.load_bytes_per_cycle / pipes.loads_per_cycle <= 64
    lists = re.findall(r"kNames\[\] = \{([^}]*)\}", (root / "runtime/core/cpu.cpp").read_text())
    reference_names = set(re.findall(r'"(\w+)"', " ".join(lists)))
    assert set().union(*core.features.values()) <= reference_names
    assert core.is_generic == core.name.startswith(cores.GENERIC)
    assert core.is_generic or bool(core.midr) != bool(core.cpuid), "a machine says what it is"


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "cores").iterdir()), ids=lambda path: path.stem
)
def test_a_core_cites_the_sources_of_its_caches_and_pipes(path: Path) -> None:
    text = path.read_text()
    assert re.search(r"^#.*\nl1i = ", text, re.MULTILINE)
    assert re.search(r"^#.*\n\[pipes\]", text, re.MULTILINE)


def test_no_two_cores_identify_themselves_alike() -> None:
    parts = [midr for core in ROWS for midr in core.midr]
    assert len(parts) == len(set(parts))
    x86 = [(c.cpuid, m) for c in ROWS if c.cpuid for m in c.cpuid.models]
    for (one, (first, last)), (other, (start, end)) in itertools.combinations(x86, 2):
        if (one.vendor, one.family) == (other.vendor, other.family):
            assert last < start or end < first


def test_every_architecture_has_a_generic_core_with_the_assumed_caches() -> None:
    for arch in some({arch for core in ROWS for arch in core.features}):
        core = cores.find(None, arch)
        assert core == cores.find("generic", arch) == cores.find(core.name, arch)
        assert core.is_generic
        assert (core.l1d.bytes, core.l1d.ways, core.l1d.line_bytes) == (32 * 1024, 8, 64)
        assert core.l2.bytes == 512 * 1024


def test_instruction_sets_name_existing_cores_in_canonical_spelling() -> None:
    named = {core for isa in kernels.isas().values() for core in isa.cores}
    assert named <= {core.name for core in ROWS}


@pytest.mark.parametrize("name", ["cortex-a53", "cortex_a53", "Cortex-A53", " CORTEX_A53 "])
def test_every_spelling_means_the_same_core(name: str) -> None:
    assert cores.find(name, "aarch64") is cores.find("cortex-a53", "aarch64")
    assert Target.of("aarch64", name) == Target.of("aarch64", "cortex-a53")


def test_a_target_knows_its_core() -> None:
    core = Target.of("aarch64", "cortex-a72").core
    assert (core.l1d.bytes, core.l1d.ways, core.l2.bytes, core.l3) == (32768, 2, 1 << 20, None)
    for cpu in ("cortex-a72", "cortex-a8", "cortex-a9"):
        assert Target.of("armv7", cpu).isas == ("portable", "neonv7")
    assert Target.portable("aarch64").core.is_generic


def test_the_end_of_a_name_finds_the_one_core_that_has_it() -> None:
    assert cores.find("a53").name == cores.find("A53", "aarch64").name == "cortex-a53"
    with pytest.raises(UsageError, match="unknown core 'n9'"):
        cores.find("n9")


def test_an_unknown_core_is_refused_with_similar_and_known_names() -> None:
    with pytest.raises(UsageError, match="unknown core 'cortex-a35x'") as caught:
        cores.find("cortex-a35x", "aarch64")
    assert "did you mean cortex-a35" in caught.value.hint
    assert "neoverse-n1" in caught.value.hint
    assert "haswell" not in caught.value.hint


def test_a_core_of_another_architecture_is_refused() -> None:
    with pytest.raises(UsageError, match="cortex-a7 runs armv7, not aarch64"):
        cores.find("cortex_a7", "aarch64")
    with pytest.raises(UsageError, match="unknown architecture 'pdp11'") as caught:
        cores.find(None, "pdp11")
    assert "x86_64" in caught.value.hint


MINE = """
doc = "an A53 of our own"
compiler = "cortex-a53"
midr = [[0x41, 0xfff]]
l1i = { bytes = 16_384, ways = 2, line_bytes = 64 }
l1d = { bytes = 16_384, ways = 4, line_bytes = 64 }
l2 = { bytes = 131_072, ways = 16, line_bytes = 64, shared_by = 2 }
[features]
aarch64 = ["neon"]
[pipes]
in_order = true
issue_width = 2
f32_fmas_per_cycle = 4
loads_per_cycle = 1
load_bytes_per_cycle = 8
"""


def test_a_users_core_needs_only_its_file(config: Path) -> None:
    (config / "my_core.toml").write_text(MINE)
    core = cores.find("my-core", "aarch64")
    assert core.name == "my-core"
    assert core.l2.bytes == 128 * 1024
    assert core.compiler_name("zig") == "cortex_a53"
    assert cores.by_midr(0x41, 0xFFF) == core
    assert Target.of("aarch64", "MY_CORE").core == core


def test_a_users_core_identifies_the_machine_first(config: Path) -> None:
    (config / "my-board.toml").write_text(MINE.replace("0xfff", "0xd03"))
    result = cores.by_midr(0x41, 0xD03)
    assert result is not None
    assert result.name == "my-board"


def test_a_users_core_replaces_a_builtin_one(config: Path) -> None:
    (config / "cortex-a53.toml").write_text(MINE)
    assert cores.find("cortex_a53", "aarch64").doc == "an A53 of our own"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('doc = "an A53 of our own"\n', "", "`doc` is missing"),
        ('doc = "an A53 of our own"', "doc = 3", "`doc` must be a string"),
        ("issue_width = 2\n", "", r"`pipes.issue_width` is missing"),
        ("issue_width = 2", "issue_width = 0", r"`pipes.issue_width` must be an integer"),
        ("issue_width = 2", "issue_width = true", r"`pipes.issue_width` must be an integer"),
        ("in_order = true", "in_order = 1", r"`pipes.in_order` must be true or false"),
        ("in_order", "inorder", r"unknown key `pipes.inorder`"),
        ("[pipes]", "threads = 2\n[pipes]", r"`features.threads` must be a list"),
        ("[features]", "speed = 3\n[features]", "unknown key `speed`"),
        ("[features]", "name = 'mine'\n[features]", "unknown key `name`"),
        ("ways = 16", "ways = 7", r"`l2.bytes` must be a multiple of"),
        ("ways = 16", "ways = '16'", r"`l2.ways` must be an integer"),
        ("[[0x41, 0xfff]]", "[0x41, 0xfff]", "`midr` must be a list"),
        ("[[0x41, 0xfff]]", "[[0x41, 'x']]", "`midr` must be an integer"),
        ('aarch64 = ["neon"]\n', "", "`features` must be a table"),
        ("[pipes]", "[[pipes]]", "`pipes` must be a table"),
        ("[features]", "[features", "not a TOML file"),
    ],
)
def test_a_malformed_core_is_refused_by_file_and_key(
    config: Path, old: str, new: str, message: str
) -> None:
    assert old in MINE
    (config / "mine.toml").write_text(MINE.replace(old, new))
    with pytest.raises(SchemaError, match=message) as caught:
        cores.find("mine", "aarch64")
    assert caught.value.where == str(config / "mine.toml")


def machine(tmp_path: Path, cpuinfo: str, caches: dict[str, dict[str, str]] | None = None) -> Path:
    """A root folder as Linux fills `/proc` and `/sys`."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(cpuinfo)
    for index, values in (caches or {}).items():
        folder = tmp_path / "sys/devices/system/cpu/cpu0/cache" / index
        folder.mkdir(parents=True)
        for name, value in values.items():
            (folder / name).write_text(value + "\n")
    return tmp_path


def arm(*parts: str) -> str:
    return "\n".join(
        f"processor\t: {i}\nCPU implementer\t: 0x41\nCPU part\t: {p}\n" for i, p in enumerate(parts)
    )


def test_a_machine_is_recognized_by_its_midr(tmp_path: Path) -> None:
    assert cores.this_machine("aarch64", machine(tmp_path, arm("0xd03"))).name == "cortex-a53"


def test_of_a_big_and_a_little_core_the_machine_is_the_big_one(tmp_path: Path) -> None:
    system = machine(tmp_path, arm("0xd05", "0xd05", "0xd0b", "0xd0b"))
    assert cores.this_machine("aarch64", system).name == "cortex-a76"


def test_an_x86_machine_is_recognized_by_its_cpuid(tmp_path: Path) -> None:
    text = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n"
    assert cores.this_machine("x86_64", machine(tmp_path, text)).name == "zen4"


# Model numbers as Linux lists them (intel-family.h, amd.c, cputype.h).
@pytest.mark.parametrize(
    ("vendor", "family", "model", "name"),
    [
        ("GenuineIntel", 6, 94, "skylake"),
        ("GenuineIntel", 6, 158, "skylake"),
        ("GenuineIntel", 6, 85, "skylake-avx512"),
        ("GenuineIntel", 6, 140, "icelake-client"),
        ("GenuineIntel", 6, 106, "icelake-server"),
        ("GenuineIntel", 6, 151, "alderlake"),
        ("GenuineIntel", 6, 183, "alderlake"),
        ("GenuineIntel", 6, 143, "sapphirerapids"),
        ("GenuineIntel", 6, 207, "sapphirerapids"),
        ("GenuineIntel", 6, 173, "graniterapids"),
        ("AuthenticAMD", 23, 49, "zen2"),
        ("AuthenticAMD", 23, 113, "zen2"),
        ("AuthenticAMD", 25, 1, "zen3"),
        ("AuthenticAMD", 25, 33, "zen3"),
        ("AuthenticAMD", 25, 97, "zen4"),
        ("AuthenticAMD", 26, 2, "zen5"),
    ],
)
def test_x86_cores_have_the_model_numbers_of_linux(
    vendor: str, family: int, model: int, name: str
) -> None:
    core = cores.by_cpuid(vendor, family, model)
    assert core is not None
    assert core.name == name


@pytest.mark.parametrize(
    ("implementer", "part", "name"),
    [
        (0x41, 0xD80, "cortex-a520"),
        (0x41, 0xD81, "cortex-a720"),
        (0x41, 0xD48, "cortex-x2"),
        (0x41, 0xD4E, "cortex-x3"),
        (0x41, 0xD82, "cortex-x4"),
        (0x41, 0xD4F, "neoverse-v2"),
        (0x41, 0xD49, "neoverse-n2"),
        (0x6D, 0xD49, "neoverse-n2"),  # Azure Cobalt 100
        (0x41, 0xD84, "neoverse-v3"),
        (0x41, 0xD83, "neoverse-v3"),  # V3AE
        (0x41, 0xD8E, "neoverse-n3"),
        (0x41, 0xD85, "cortex-x925"),
        (0x41, 0xD87, "cortex-a725"),
        (0x41, 0xD8A, "c1-nano"),
        (0x41, 0xD8B, "c1-pro"),
        (0x41, 0xD8C, "c1-ultra"),
        (0x41, 0xD90, "c1-premium"),
        (0x61, 0x023, "apple-m1"),
        (0x61, 0x033, "apple-m2"),
        (0x61, 0x039, "apple-m2"),
        # Not of Linux yet: m1n1, src/midr.h, of the same project.
        (0x61, 0x043, "apple-m3"),
        (0x61, 0x053, "apple-m4"),
        (0x4E, 0x004, "carmel"),
        (0x51, 0x800, "cortex-a73"),
        (0x51, 0x804, "cortex-a76"),
    ],
)
def test_arm_cores_have_the_parts_of_linux(implementer: int, part: int, name: str) -> None:
    core = cores.by_midr(implementer, part)
    assert core is not None
    assert core.name == name


def told(level: str, kind: str, size: str, ways: str, cpus: str) -> dict[str, str]:
    """A cache as Linux describes it in sysfs."""
    return {
        "level": level,
        "type": kind,
        "size": size,
        "ways_of_associativity": ways,
        "coherency_line_size": "64",
        "shared_cpu_list": cpus,
    }


# An 8-core part with 16 MB says so; a virtual machine with 480 MB for two cores does not tell.
@pytest.mark.parametrize(
    ("claimed", "cpus", "megabytes", "sharers"),
    [("16384K", "0-7", 16, 8), ("491520K", "0-1", 32, 8), ("491520K", "0-47", 192, 48)],
)
def test_a_third_level_is_believed_up_to_the_likely_part_of_its_cores(
    tmp_path: Path, claimed: str, cpus: str, megabytes: int, sharers: int
) -> None:
    text = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 250\n"
    l3 = told("3", "Unified", claimed, "16", cpus)
    core = cores.this_machine("x86_64", machine(tmp_path, text, {"index3": l3}))
    assert core.l3 == cores.Cache(megabytes << 20, 16, 64, sharers)


def test_an_unknown_machine_is_generic_with_the_caches_of_sysfs(tmp_path: Path) -> None:
    caches = {
        "index0": told("1", "Data", "48K", "12", "0"),
        "index1": told("1", "Instruction", "32K", "8", "0"),
        "index2": told("2", "Unified", "2048K", "16", "0-1,8"),
        "index3": {"level": "3", "type": "Unified"},
    }
    text = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 250\n"
    core = cores.this_machine("x86_64", machine(tmp_path, text, caches))
    assert core.name == "generic-x86-64"
    assert core.l1d == cores.Cache(48 * 1024, 12, 64)
    assert core.l1i == cores.Cache(32 * 1024, 8, 64)
    assert core.l2 == cores.Cache(2 << 20, 16, 64, shared_by=3)
    told_in_part = cores.find(None, "x86_64").l3
    assert core.l3 == told_in_part, "what is not told in full is not taken"


def test_a_machine_without_information_is_generic(tmp_path: Path) -> None:
    assert cores.this_machine("riscv64", tmp_path) == cores.find(None, "riscv64")


def test_the_caches_of_this_machine_match_sysfs() -> None:
    arch = Target.host().arch
    core = cores.this_machine(arch)
    if core.is_generic or arch != "x86_64":
        pytest.skip("no file knows this machine, or its caches differ by board")
    if "hypervisor" in Path("/proc/cpuinfo").read_text().split():
        pytest.skip("a virtual machine may name another model than the one whose caches it has")
    observed = cores.system_caches(Path("/sys/devices/system/cpu/cpu0/cache"))
    if not observed:
        pytest.skip("the kernel tells of no caches")
    for name in ("l1i", "l1d", "l2"):
        assert getattr(core, name) == observed[name]
