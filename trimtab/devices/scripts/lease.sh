#!/bin/sh
# lease.sh FOLDER COMMAND [ARGUMENT...]: the leases of this device, folders 1, 2, ... in FOLDER.
#
# The highest number counts. A folder holds `boot` (the boot id), `until` (in seconds of uptime) and
# `owner` (KEY=VALUE lines); `runner.PID.STARTED` for each running program, and `undo`, a script that
# restores what its measurement has changed. FOLDER "" is the place that all users share.
#
#   look                    prints `held NUMBER UPTIME UNTIL` and the owner, or `free NUMBER`
#   claim FORCE SECONDS FULL OWNER...
#                           makes the next folder unless the newest is held and is not number FORCE;
#                           prints what it cleaned up, then `taken NUMBER FOLDER`, `again`, or as look
#   renew NUMBER SECONDS    prints `renewed`, `taken`, `free`, or as look
#   release NUMBER          ends the lease
#   watch NUMBER PAUSE      the watchdog: cleans up as soon as nobody renews the lease
LC_ALL=C; export LC_ALL; umask 022
folder=$1; command=$2; shift 2
if [ -z "$folder" ]; then
  for d in /tmp /data/local/tmp; do [ -d $d ] && [ -w $d ] && break; done
  folder=$d/trimtab-lease
fi
boot=; read -r boot 2>/dev/null </proc/sys/kernel/random/boot_id

. ./process_group.sh

clock() { read -r up _ 2>/dev/null </proc/uptime || up=$(date +%s); up=${up%%.*}; }

newest() {
  n=0
  for d in "$folder"/[0-9]*; do
    [ -d "$d" ] && [ "${d##*/}" -gt "$n" ] 2>/dev/null && n=${d##*/}
  done
}

held() {
  b=; until=; clock
  read -r b 2>/dev/null <"$folder/$1/boot"; read -r until 2>/dev/null <"$folder/$1/until"
  [ "$b" = "$boot" ] && [ -n "$until" ] && [ "$up" -lt "$until" ]
}

tell() { echo "held $1 ${up:-0} ${until:-0}"; cat "$folder/$1/owner" 2>/dev/null; }

# Ends the runners that folder $1 notes, runs its `undo`, and prints what it did. Only files of this
# user count: the folder is open to all, and this user may be root.
clean() {
  b=; read -r b 2>/dev/null <"$1/boot"; [ "$b" = "$boot" ] || return 0
  for r in "$1"/runner.*; do
    # shellcheck disable=SC3067  # test -O: dash, bash, busybox and mksh have it
    [ -O "$r" ] || continue
    about=${r##*/runner.}; pid=${about%.*}
    state "$pid" || continue
    [ "$started" = "${about#*.}" ] || continue
    if [ "$(end "$pid")" = ended ]; then echo "ended a stale runner (process $pid)"
    else echo "a stale runner does not end (process $pid)"; fi
  done
  # shellcheck disable=SC3067
  if [ -O "$1/undo" ]; then sh "$1/undo"; rm -f "$1/undo"; fi
  return 0
}

claim() {
  force=$1; seconds=$2; full=$3; shift 3
  # shellcheck disable=SC2174  # its parent exists
  [ -d "$folder" ] || mkdir -p -m 777 "$folder" || exit 1
  # A folder without `owner` was made this very moment: its maker gets three seconds.
  newest; i=0
  while [ "$n" -gt 0 ] && [ ! -e "$folder/$n/owner" ] && [ $i -lt 3 ]; do
    sleep 1; i=$((i+1)); newest
  done
  old=$n; new=$((n+1))
  if [ "$old" -ne "$force" ] && held "$old"; then tell "$old"; exit; fi
  own=$folder/$new  # not `d`: `newest` uses that
  if ! mkdir -m 777 "$own"; then newest; [ "$n" -ge $new ] && echo again && exit; exit 1; fi
  if [ "$old" -ne "$force" ] && held "$old"; then rm -rf "$own"; tell "$old"; exit; fi
  clock
  { echo "$boot" >"$own/boot" && echo $((up+seconds)) >"$own/until" \
    && printf '%s\n' "$@" "since=$up" >"$own/owner.part" \
    && mv -f "$own/owner.part" "$own/owner"; } || { rm -rf "$own"; exit "$full"; }
  newest; if [ "$n" -ne $new ]; then rm -rf "$own"; echo again; exit; fi
  for d in "$folder"/[0-9]*; do
    # shellcheck disable=SC3067
    [ "${d##*/}" -lt $new ] 2>/dev/null && [ -O "$d/owner" ] && clean "$d" && rm -rf "$d"
  done
  echo "taken $new $folder"
}

# Overwrites `until` in place: the new text is as long or longer, so that a full disk has room.
renew() {
  newest
  if [ "$n" -eq "$1" ] && held "$n"; then
    echo $((up+$2)) 1<>"$folder/$n/until" && echo renewed || exit 1
  elif held "$n"; then
    tell "$n"
  elif [ "$n" -gt "$1" ]; then
    echo taken
  else
    echo free
  fi
}

# A runner whose link broke may still live: the connection that releases the lease is another one.
release() {
  d="$folder/$1"; rm -f "$d/until" "$d/undo"; clean "$d"; rm -f "$d"/runner.*
}

# `until` goes first: a launch that begins now finds it missing, and does not begin.
watch() {
  while sleep "$2"; do
    [ -e "$folder/$1/until" ] || exit 0
    newest
    [ "$n" -eq "$1" ] && held "$1" && continue
    rm -f "$folder/$1/until"
    clean "$folder/$1"
    exit 0
  done
}

case $command in
  look) newest; if held "$n"; then tell "$n"; else echo "free $n"; fi ;;
  claim) claim "$@" ;;
  renew) renew "$@" ;;
  release) release "$@" 2>/dev/null; true ;;
  watch) watch "$@" ;;
esac
