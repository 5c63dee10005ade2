"""Draws progress on stderr; standard output belongs to the result.

Notes and finished steps are lines, indented by the steps around them. On a terminal, every running
step also has a live line with a bar and the elapsed time; in a pipe or under CI nothing moves, and
a line every ten seconds tells how far long work is.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from trimtab import escape
from trimtab.progress import SILENT, Progress, format_duration

REFRESHES_PER_S = 4
MIN_REPORTED_S = 0.5
SILENCE_S = 10.0  # in a pipe
MIN_ESTIMATED_S = 2.0


def shown(*, quiet: bool = False) -> Progress:
    """Progress on this process's stderr; none with `quiet`, for `--json`."""
    if quiet:
        return SILENT
    is_live = sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
    return Shown(is_live=is_live)


def redraw(text: Callable[[], str], every_s: float = 2.0) -> None:
    """Redraws `text()` on standard output until Ctrl-C; prints it once if that is no terminal."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        print(text())
        return

    def drawn() -> Text:
        return Text(escape.text(text()))

    plain = Console(file=sys.__stdout__)  # what it draws are escapes
    with suppress(KeyboardInterrupt), Live(drawn(), console=plain, auto_refresh=False) as live:
        while True:
            time.sleep(every_s)
            live.update(drawn(), refresh=True)


@dataclass(eq=False)
class _DrawnStep:
    """A running step."""

    title: str
    unit: str
    still: bool
    on_update: Callable[[], None]
    begin_s: float = field(default_factory=time.monotonic)
    is_printed: bool = False
    done: int = 0
    total: int = 0
    detail: str = ""

    def update(self, done: int, total: int = 0, detail: str = "") -> None:
        """See `trimtab.progress.Step`."""
        self.done, self.total, self.detail = done, total, detail
        self.on_update()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.begin_s

    @property
    def left_s(self) -> float | None:
        """The estimated remaining time, in proportion to what is done; None if nothing is yet."""
        if not 0 < self.done < self.total or self.elapsed_s < MIN_ESTIMATED_S:
            return None
        return self.elapsed_s / self.done * (self.total - self.done)

    def amount(self) -> str:
        """The finished amount of the total."""
        return self._counted(self.done, self.total)

    def state(self) -> str:
        """The finished amount and the time: "build: 3 of 18 cells, about 12 min left"."""
        amount = f": {self.amount()}" if self.total else ""
        if (left_s := self.left_s) is not None:
            return f"{self.title}{amount}, about {format_duration(left_s)} left"
        return f"{self.title}{amount}, {format_duration(self.elapsed_s)} so far"

    def summary(self) -> str:
        """The finished amount and the duration; empty for a very short step."""
        if self.elapsed_s < MIN_REPORTED_S:
            return ""
        seconds = f"{self.elapsed_s:.1f} s"
        return f"{self._counted(self.done)} in {seconds}" if self.done else seconds

    def _counted(self, done: int, total: int = 0) -> str:
        amounts = (done, total) if total else (done,)
        if self.unit == "bytes":
            return f"{' of '.join(f'{amount / 1e6:,.1f}' for amount in amounts)} MB"
        plural = "es" if self.unit.endswith("ches") else "s"
        unit = self.unit.removesuffix(plural) if amounts == (1,) else self.unit
        return f"{' of '.join(f'{amount:,}' for amount in amounts)} {unit}"


class Shown:
    """Draws on stderr."""

    def __init__(self, *, is_live: bool) -> None:
        """`is_live`: stderr is a terminal."""
        self._is_live = is_live
        self._steps: list[_DrawnStep] = []
        self._live: Live | None = None
        self._printed_s = time.monotonic()
        self._idle = threading.Event()

    def note(self, text: str) -> None:
        """See `trimtab.progress.Progress`."""
        self._print_titles(self._steps)
        self._print(len(self._steps), text)

    @contextmanager
    def step(self, title: str, unit: str = "", *, still: bool = False) -> Iterator[_DrawnStep]:
        """See `trimtab.progress.Progress`."""
        around, step = [*self._steps], _DrawnStep(title, unit, still, self._updated)
        self._steps.append(step)
        if not self._is_live:
            self._print_titles(self._steps)
            if not around:
                self._idle = threading.Event()
                threading.Thread(target=self._report, args=(self._idle,), daemon=True).start()
        self._draw()
        try:
            yield step
            self._print_titles(around)
            figures = step.summary()
            if not step.is_printed:
                self._print(len(around), f"{step.title}: {figures}" if figures else step.title)
            elif figures:
                self._print(len(around) + 1, figures)
        except BaseException:
            self._print_titles(self._steps)  # the steps that failed
            raise
        finally:
            self._steps.remove(step)
            if not self._steps:
                self._idle.set()
            self._draw()

    def _report(self, idle: threading.Event) -> None:
        """Prints the state of the running steps whenever nothing was printed for a while."""
        while not idle.wait(max(0.1, self._printed_s + SILENCE_S - time.monotonic())):
            steps = [*self._steps]
            if steps and time.monotonic() - self._printed_s >= SILENCE_S:
                counted = [step for step in steps if step.total] or steps[:1]
                states = [*dict.fromkeys([counted[0].state(), steps[-1].state()])]
                self._print(len(steps), "; ".join(states))

    def _print_titles(self, steps: Sequence[_DrawnStep]) -> None:
        """Prints the titles of steps before the first line within them."""
        for depth, step in enumerate(steps):
            if not step.is_printed:
                step.is_printed = True
                self._print(depth, step.title)

    def _print(self, depth: int, text: str) -> None:
        self._printed_s = time.monotonic()
        line = "  " * depth + escape.line(text)
        if self._live:
            self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def _draw(self) -> None:
        """Draws the running steps, and redraws them by a timer unless one of them is `still`."""
        is_still = any(step.still for step in self._steps)
        if self._live and (not self._steps or self._live.auto_refresh == is_still):
            self._live.stop()
            self._live = None
        if self._live:
            self._live.refresh()
        elif self._is_live and self._steps:
            self._live = Live(
                get_renderable=self._render,
                console=Console(stderr=True),
                auto_refresh=not is_still,
                refresh_per_second=REFRESHES_PER_S,
                transient=True,
                redirect_stdout=False,
            )
            self._live.start(refresh=True)

    def _updated(self) -> None:
        if self._live and not self._live.auto_refresh:
            self._live.refresh()

    def _render(self) -> Group:
        return Group(*(self._row(depth, step) for depth, step in enumerate([*self._steps])))

    def _row(self, depth: int, step: _DrawnStep) -> Table:
        row = Table.grid(padding=(0, 1))
        row.add_column(no_wrap=True)
        cells: list[Text | ProgressBar] = [Text("  " * depth + escape.line(step.title))]
        if step.total:
            cells.append(ProgressBar(step.total, step.done, width=24))
        if step.done:
            cells.append(Text(step.amount()))
        cells.append(Text(_clock(step.elapsed_s), style="cyan"))
        if (left_s := step.left_s) is not None:
            cells.append(Text(f"{_clock(left_s)} left", style="cyan"))
        cells.append(Text(escape.line(step.detail), style="dim", no_wrap=True, overflow="ellipsis"))
        row.add_row(*cells)
        return row


def _clock(seconds: float) -> str:
    """Minutes and seconds."""
    return "{}:{:02}".format(*divmod(int(seconds), 60))
