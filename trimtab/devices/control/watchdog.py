"""Scripts that end a runner on the device: by who started it, by who finds it, by a watchdog there.

A launch under a lease writes its process, which leads its group, into the lease's folder. A
watchdog on the device looks at the lease, and ends that group, and undoes what is to be undone,
when nobody renews it any more: the link is cut or frozen, or this process was stopped or killed.

Everything is POSIX sh for dash, bash, busybox and mksh (Android); /proc is the kernel's.
"""

from __future__ import annotations

import shlex

from trimtab.devices import process_group
from trimtab.devices.protocol import Device

_LOOK_S = 2  # how often the watchdog looks

# `clean FOLDER` ends the runner that is noted there, undoes what is noted there, and tells it. Only
# what is noted by ourselves: the folder is open to all, and we may be root.
_LEASES = r"""
LC_ALL=C; export LC_ALL; umask 022
folder={folder}
if [ -z "$folder" ]; then
  for d in /tmp /data/local/tmp; do [ -d $d ] && [ -w $d ] && break; done
  folder=$d/trimtab-lease
fi
boot=; read -r boot 2>/dev/null </proc/sys/kernel/random/boot_id
clock() {{ read -r up rest 2>/dev/null </proc/uptime || up=$(date +%s); up=${{up%%.*}}; }}
newest() {{
  n=0
  for d in "$folder"/[0-9]*; do
    [ -d "$d" ] && [ "${{d##*/}}" -gt $n ] 2>/dev/null && n=${{d##*/}}
  done
}}
held() {{
  b=; until=; clock
  read -r b 2>/dev/null <"$folder/$1/boot"; read -r until 2>/dev/null <"$folder/$1/until"
  [ "$b" = "$boot" ] && [ -n "$until" ] && [ "$up" -lt "$until" ]
}}
tell() {{ echo "held $1 ${{up:-0}} ${{until:-0}}"; cat "$folder/$1/owner" 2>/dev/null; }}
clean() {{
  b=; read -r b 2>/dev/null <"$1/boot"; [ "$b" = "$boot" ] || return 0
  for r in "$1"/runner.*; do
    [ -O "$r" ] && about=${{r##*/runner.}} && pid=${{about%.*}} && state $pid \
      && [ "$started" = "${{about#*.}}" ] || continue
    if [ "$(end $pid)" = ended ]; then echo "ended a runner that was left (process $pid)"
    else echo "a runner that was left does not end (process $pid)"; fi
  done
  if [ -O "$1/undo" ]; then sh "$1/undo"; rm -f "$1/undo"; fi
  return 0
}}
"""

# `until` goes first: a launch that begins now finds it missing, and does not begin.
_WATCHDOG = r"""
while sleep {seconds}; do
  [ -e "$folder/{number}/until" ] || exit 0
  newest
  [ $n -eq {number} ] && held {number} && continue
  rm -f "$folder/{number}/until"
  clean "$folder/{number}"
  exit 0
done
"""

# `exec` keeps the process and when it started, so that both name what is started here. They are the
# name of an empty file, which a disk has room for that is full.
_NOTE = (
    "{{ [ -e {folder}/until ] && read -r stat </proc/$$/stat && set -- ${{stat##*) }} && "
    ": >{folder}/runner.$$.${{20}}; }} 2>/dev/null || "
    "{{ echo 'the lease of the device is lost' >&2; exit {lost}; }}; "
)
_LOST = 75  # sysexits.h EX_TEMPFAIL


def script(folder: str, body: str) -> str:
    """`body`, which may use `newest`, `held`, `tell` and `clean` on the leases in `folder` (of the
    device; "": where leases lie if nobody says otherwise).
    """
    return process_group.FUNCTIONS + _LEASES.format(folder=shlex.quote(folder)) + body


def start(device: Device, root: str, number: int) -> None:
    """Starts the watchdog of lease `number`, which lives on after this connection. It ends with the
    lease.
    """
    text = script(root, _WATCHDOG.format(number=number, seconds=_LOOK_S))
    device.shell(
        "s=; command -v setsid >/dev/null && s=setsid; "
        f"$s sh -c {shlex.quote(text)} </dev/null >/dev/null 2>&1 & true",
        "start the watchdog",
    )


def note_of_launch(folder: str) -> str:
    """What a launch does first: notes its process in the lease's folder, or does not begin."""
    return _NOTE.format(folder=shlex.quote(folder), lost=_LOST)
