"""Ends a process group on the device, and the errors of a command that took too long."""

from __future__ import annotations

from trimtab.devices.protocol import CommandResult
from trimtab.errors import DeviceTimeoutError, DeviceUnreachableError

# Prints "ended" when the group's leader was seen to be gone. SIGTERM for scripts that clean up,
# SIGKILL a second later for all else. A zombie has ended; nobody may be there to reap it. Not every
# `kill` knows `--`, and after an explicit signal a number that begins with `-` needs none.
FUNCTIONS = r"""
state() {
  stat=; read -r stat 2>/dev/null </proc/$1/stat || return 1
  set -- ${stat##*) }; state=$1; started=${20}; [ "$state" != Z ]
}
end() {
  kill -15 -$1; i=0
  while [ $i -lt 20 ] && kill -0 -$1 && state $1; do sleep 0.05; i=$((i+1)); done
  kill -9 -$1 || kill -9 $1; i=0
  while state $1; do [ $i -ge 40 ] && return 1; sleep 0.05; i=$((i+1)); done
  echo ended
} 2>/dev/null
"""


def end_script(group: int) -> str:
    """Ends a process group; prints "ended" when that was seen."""
    return f"{FUNCTIONS}\nend {group}\n"


def is_ended(result: CommandResult) -> bool:
    """Whether what `end_script` printed says that the group's end was seen."""
    return result.stdout.split() == [b"ended"]


def timed_out(device: str, command: str, timeout_s: float, is_ended: bool) -> DeviceTimeoutError:
    """The error of a command that took too long, which says no more than what was seen."""
    fate = "ended there" if is_ended else "it may still run there"
    return DeviceTimeoutError(
        f"no end after {timeout_s:g} s, {fate}: {command[-200:]}",
        where=device,
        hint="give it longer (--timeout), or look at what the device does"
        if is_ended
        else "the watchdog there ends a runner whose lease is not renewed; the next run looks",
    )


def frozen(device: str, command: str, timeout_s: float) -> DeviceUnreachableError:
    """The error of a command that took too long on a device that does not answer any more."""
    return DeviceUnreachableError(
        f"no end after {timeout_s:g} s, and the device does not answer; it may still run there: "
        f"{command[-200:]}",
        where=device,
        hint="is its network or cable well? The watchdog there ends a runner whose lease is not "
        "renewed; the next run looks",
    )
