"""Clusters of cores, temperatures and throttling, parsed from the kernel's files."""

from __future__ import annotations

import pytest

from trimtab.devices import facts
from trimtab.devices.control import sysfs, thermal, topology
from trimtab.devices.control.sysfs import SysfsTree
from trimtab.devices.control.thermal import ThermalState
from trimtab.errors import UsageError

CPU = "devices/system/cpu"


def tree(
    capacities: list[int] | None = None,
    khz: list[int] | None = None,
    *,
    allowed: str = "",
    online: str = "",
) -> SysfsTree:
    files = {f"{CPU}/cpu{i}/cpu_capacity": str(c) for i, c in enumerate(capacities or [])}
    files |= {f"{CPU}/cpu{i}/cpufreq/cpuinfo_max_freq": str(f) for i, f in enumerate(khz or [])}
    files[f"{CPU}/online"] = online or f"0-{len(capacities or khz or [0]) - 1}"
    return SysfsTree(files, allowed)


# (capacities, maximum frequencies, clusters slowest first)
BOARDS: dict[str, tuple[list[int], list[int], str]] = {
    "Raspberry Pi 4": ([1024] * 4, [1_800_000] * 4, "all (0-3)"),
    "RK3399": (
        [381] * 4 + [1024] * 2,
        [1_416_000] * 4 + [1_800_000] * 2,
        "little (0-3), big (4-5)",
    ),
    "Snapdragon 855": (
        [261] * 4 + [871] * 3 + [1024],
        [1_785_600] * 4 + [2_419_200] * 3 + [2_841_600],
        "little (0-3), mid (4-6), big (7)",
    ),
    "Odroid-N2, numbered the other way": (
        [1024, 1024, 512, 512],
        [],
        "little (2-3), big (0-1)",
    ),
    "a laptop without capacities": (
        [],
        [5_100_000, 5_200_000, 5_100_000, 3_900_000, 3_900_000],
        "little (3-4), big (0-2)",
    ),
    "a device tree without capacities": (
        [1024] * 4,
        [1_200_000, 1_200_000, 2_000_000, 2_000_000],
        "little (0-1), big (2-3)",
    ),
    "four kinds": ([100, 200, 300, 400], [], "little (0), mid1 (1), mid2 (2), big (3)"),
    "a virtual machine that tells nothing": ([], [], "all (0)"),
}


@pytest.mark.parametrize("board", BOARDS)
def test_cores_are_grouped_by_capacity_or_else_by_frequency(board: str) -> None:
    capacities, khz, clusters = BOARDS[board]
    assert str(topology.parse(tree(capacities, khz))) == clusters


def test_the_default_is_the_fastest_cluster_and_the_next_ones_while_threads_lack_cores() -> None:
    phone = topology.parse(tree([261] * 4 + [871] * 3 + [1024]))
    assert phone.choose("", 1) == (7,)
    assert phone.choose("", 2) == (4, 5, 6, 7)
    assert phone.choose("", 8) == phone.choose("all", 1) == tuple(range(8))
    assert phone.choose("mid", 1) == (4, 5, 6)
    assert phone.choose("0,6-7", 1) == (0, 6, 7)


def test_with_equal_cores_every_cluster_has_all_of_them() -> None:
    assert topology.parse(tree([1024] * 4)).choose("big", 1) == (0, 1, 2, 3)


@pytest.mark.parametrize("name", ["biggest", "8", "0-8", "3-1", "-1", "1,", "0-", "²"])
def test_unknown_cores_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="there are no cores") as caught:
        topology.parse(tree([400] * 4 + [1024] * 4)).choose(name, 1)
    assert "little (0-3), big (4-7)" in caught.value.hint


def test_offline_and_reserved_cores_do_not_count() -> None:
    assert str(topology.parse(tree([1024] * 8, allowed="2-3"))) == "all (2-3)"
    assert (
        str(topology.parse(tree([400] * 4 + [1024] * 4, online="0-5"))) == "little (0-3), big (4-5)"
    )


@pytest.mark.parametrize("text", ["0", "0-3", "0-3,6", "1,3,5-7,1023"])
def test_lists_of_cores_are_read_and_written_as_the_kernel_does(text: str) -> None:
    assert sysfs.list_of(sysfs.cores_of(text)) == text


def test_the_thermal_limit_lies_below_the_passive_trip_point() -> None:
    zone = "class/thermal/thermal_zone0"
    files = {
        f"{zone}/type": "cpu-thermal",
        f"{zone}/trip_point_0_type": "active",
        f"{zone}/trip_point_0_temp": "50000",
        f"{zone}/trip_point_1_type": "passive",
        f"{zone}/trip_point_1_temp": "80000",
        f"{zone}/trip_point_2_type": "critical",
        f"{zone}/trip_point_2_temp": "95000",
    }
    assert thermal.limit_of(SysfsTree(files)) == 70.0
    assert thermal.limit_of(SysfsTree({})) == 65.0


def test_an_averaged_clock_is_no_sign_of_throttling() -> None:
    slow = ThermalState(50.0, {0: 800.0}, {0: 3000.0}, {}, {})
    args = {"governor": "performance"}
    assert thermal.slowdowns(slow, slow, slow, driver="intel_pstate", **args) == []
    assert thermal.slowdowns(slow, slow, slow, driver="cpufreq-dt", **args) != []
    assert thermal.slowdowns(slow, slow, slow, driver="cpufreq-dt", governor="schedutil") == []


def test_without_a_limit_a_clock_is_compared_with_its_first_value() -> None:
    begun, later = (ThermalState(50.0, {0: mhz}, {}, {}, {}) for mhz in (1800.0, 1200.0))
    args = {"governor": "performance", "driver": "cpufreq-dt"}
    assert thermal.slowdowns(begun, begun, begun, **args) == []
    assert thermal.slowdowns(begun, begun, later, **args) == ["core 0 has 1200 MHz instead of 1800"]


@pytest.mark.parametrize(
    ("zones", "celsius"),
    [
        (["gpu-thermal", "bigcore0-thermal", "littlecore-thermal"], 50.0),  # Rockchip
        (["battery", "BIG", "LITTLE"], 50.0),  # Exynos
        (["x86_pkg_temp", "acpitz"], 60.0),
        (["acpitz"], 60.0),  # none says that it is a processor
    ],
)
def test_the_temperature_is_that_of_the_hottest_zone_of_a_processor(
    zones: list[str], celsius: float
) -> None:
    readings = [(kind, 60_000 - 10_000 * number) for number, kind in enumerate(zones)]
    assert facts.hottest(readings) == celsius
