"""The present state of a device: clocks, governors, temperatures, load, and the lease's holder."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from trimtab import strict_json, tables
from trimtab.devices.control import governor, lease, sysfs, thermal, topology
from trimtab.devices.protocol import Device
from trimtab.tables import Column, Table, number


@dataclass(frozen=True)
class CoreState:
    """One core; None if the device does not report a value."""

    core: int
    cluster: str
    governor: str | None
    mhz: float | None
    limit_mhz: float | None


@dataclass(frozen=True)
class DeviceState:
    """The state of a device.

    `load`: runnable processes, averaged over a minute. `cooling`: states of cooling devices that
    slow the processor down, above 0 while they do. `lease`: its holder, "" if the device is free.
    """

    name: str
    cores: tuple[CoreState, ...]
    zones: dict[str, float]
    cooling: dict[str, int]
    load: float | None
    lease: str

    def json(self) -> str:
        """The state for programs."""
        return strict_json.dumps(asdict(self), indent=2)

    def text(self) -> str:
        """The state as tables for a terminal."""
        heads = [Column("core"), Column("cluster"), Column("governor", absent="-")]
        columns = [*heads, number("MHz", "g", absent="-"), number("limit", "g", absent="-")]
        rows = [(str(c.core), c.cluster, c.governor, c.mhz, c.limit_mhz) for c in self.cores]
        facts = [
            *((zone, f"{celsius:.1f} °C") for zone, celsius in self.zones.items()),
            *((cooler, "off" if state == 0 else f"state {state}: slows down")
              for cooler, state in self.cooling.items()),
            ("load", None if self.load is None else f"{self.load:g}"),
            ("lease", self.lease or "free"),
        ]  # fmt: skip
        return tables.text(
            [Table(columns, rows, self.name), Table([Column(""), Column("", absent="-")], facts)]
        )


def look(device: Device) -> DeviceState:
    """Asks a device for its state, and changes nothing, whoever holds its lease."""
    tree = sysfs.read(
        device,
        *(*sysfs.TOPOLOGY, *sysfs.CLOCKS, *sysfs.GOVERNORS, *sysfs.TEMPERATURES, *sysfs.COOLING),
    )
    clusters = topology.parse(tree)
    governors = dict(tree.find(governor.GOVERNOR))
    state = thermal.parse(tree, clusters.cores)
    cores = (
        CoreState(
            core, cluster.name, governors.get(core), state.mhz.get(core), state.limit_mhz.get(core)
        )
        for cluster in clusters.clusters
        for core in cluster.cores
    )
    load = device.shell("cat /proc/loadavg 2>/dev/null; true", "read the load").split()
    holder = lease.look(device)
    return DeviceState(
        name=device.name,
        cores=tuple(sorted(cores, key=lambda core: core.core)),
        zones=thermal.zones(tree),
        cooling=state.cooling,
        load=float(load[0]) if load else None,
        lease=str(holder or ""),
    )
