"""The noise floor of a device: how far apart equal binaries can appear on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import argument, command, group, option
from trimtab.cli._options import RESULTS_HELP, TRUST_HELP, ControlOptions
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.compare.ab import AbRequest

GROUP = "Devices"


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """Options of `calibrate`."""

    device: str = argument(f"device ({PROGRAM} device)")
    model: str = option("model file or zoo network to measure; default: shufflenet_v2")
    launches: int = option("launches of each arm; default 40", 40)
    threads: int = option("threads of the runner", 1)
    duet: bool = option("for comparisons with --duet: run both arms at the same time", False)
    trust_new: bool = option(TRUST_HELP, False)
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)
    control: ControlOptions = group(ControlOptions)

    def validate(self) -> None:
        """DeviceError for an unknown device; UsageError for invalid values."""
        from trimtab.devices import find_device
        from trimtab.pipeline import resolve

        find_device(self.device)
        resolve.check(self.request().a.recipe)

    def request(self) -> AbRequest:
        """The request of these options; UsageError for invalid values."""
        from trimtab.bench.jobs import Settings
        from trimtab.compare import ab
        from trimtab.compare.arms import Arm
        from trimtab.pipeline.recipe import Recipe

        model = self.model or ab.FLOOR_MODEL
        arm = Arm(model, Recipe(model=model), self.threads)
        return ab.AbRequest(
            arm,
            arm,
            self.device,
            self.launches,
            self.duet,
            trust_new=self.trust_new,
            settings=Settings(control=self.control.read()),
        )


@command(CalibrateOptions, engine=True, short_options=False)
def calibrate(options: CalibrateOptions) -> None:
    """Measure A against A and store the device's noise floor, which a real difference exceeds."""
    from dataclasses import asdict

    from trimtab.cli._progress import shown
    from trimtab.compare import ab
    from trimtab.results.folder import results_folder
    from trimtab.strict_json import dumps

    progress = shown(quiet=options.json)
    floor = ab.calibrate(options.request(), results_folder(options.results), progress)
    if options.json:
        print(dumps(asdict(floor), indent=1))
    else:
        low, high = floor.interval
        print(f"noise floor of {options.device}: {floor.share:.2%}")
        print(f"A against A: {floor.ratio:.4f}x ({low:.4f} .. {high:.4f}), ", end="")
        print(f"{floor.launches} launches per arm, {floor.measured}")
        print(f"it holds for {floor.control}")
