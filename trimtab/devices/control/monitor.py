"""What a device does at this moment: clocks, governors, heat, load, and who has it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from trimtab import tables
from trimtab.devices.control import governor, lease, sysfs, thermal, topology
from trimtab.devices.protocol import Device
from trimtab.tables import Column, Table, number


@dataclass(frozen=True)
class Core:
    """One core; None where the device does not tell."""

    core: int
    cluster: str
    governor: str | None
    mhz: float | None
    limit_mhz: float | None


@dataclass(frozen=True)
class Now:
    """The state of a device. `load`: processes that ran or waited, over the last minute; `cooling`:
    states of what slows the processor down, above 0 while it does; `lease`: who has it, "" for
    nobody.
    """

    name: str
    cores: tuple[Core, ...]
    zones: dict[str, float]
    cooling: dict[str, int]
    load: float | None
    lease: str

    def json(self) -> str:
        """For programs."""
        return json.dumps(asdict(self), indent=2)

    def text(self) -> str:
        """Tables for a terminal."""
        heads = [Column("core"), Column("cluster"), Column("governor", absent="-")]
        columns = [*heads, number("MHz", "g", absent="-"), number("at most", "g", absent="-")]
        rows = [(str(c.core), c.cluster, c.governor, c.mhz, c.limit_mhz) for c in self.cores]
        facts = [
            *((zone, f"{celsius:.1f} °C") for zone, celsius in self.zones.items()),
            *((cooler, "off" if state == 0 else f"state {state}: slows down")
              for cooler, state in self.cooling.items()),
            ("load", None if self.load is None else f"{self.load:g}"),
            ("lease", self.lease or "nobody has it"),
        ]  # fmt: skip
        return tables.text(
            [Table(columns, rows, self.name), Table([Column(""), Column("", absent="-")], facts)]
        )


def look(device: Device) -> Now:
    """Asks a device; nothing there is changed, whoever has it."""
    tree = sysfs.read(
        device,
        *(*sysfs.TOPOLOGY, *sysfs.CLOCKS, *sysfs.GOVERNORS, *sysfs.TEMPERATURES, *sysfs.COOLING),
    )
    clusters = topology.parse(tree)
    governors = dict(tree.find(governor.GOVERNOR))
    state = thermal.parse(tree, clusters.cores)
    cores = (
        Core(
            core, cluster.name, governors.get(core), state.mhz.get(core), state.limit_mhz.get(core)
        )
        for cluster in clusters.clusters
        for core in cluster.cores
    )
    load = device.shell("cat /proc/loadavg 2>/dev/null; true", "read the load").split()
    holder = lease.look(device)
    return Now(
        name=device.name,
        cores=tuple(sorted(cores, key=lambda core: core.core)),
        zones=thermal.zones(tree),
        cooling=state.cooling,
        load=float(load[0]) if load else None,
        lease=str(holder or ""),
    )
