#!/bin/sh
# lease.sh SYSFS FOLDER COMMAND [ARGUMENT...]: the leases of this device, folders 1, 2, ... in FOLDER.
#
# The highest number counts. A folder holds `boot` (the boot id), `until` (in seconds of uptime) and
# `owner` (KEY=VALUE lines); `runner.PID.STARTED` for each running program, and `undo`, lines FILE WAS
# NOW of the governors that its measurement has changed. FOLDER "" is the place that all users share.
#
# Other users may own FOLDER and put anything into it, and this user may be root. So nothing there is
# ever run; files of others are only read, as numbers and words; and this user changes only files in
# folders of its own (lease_folder.sh).
#
#   look                    prints `held NUMBER UPTIME UNTIL` and the owner, or `free NUMBER`
#   claim FORCE SECONDS FULL OWNER...
#                           makes the next folder unless the newest is held and is not number FORCE;
#                           prints what it cleaned up, then `taken NUMBER FOLDER`, `again`, or as look
#   note NUMBER LINE...     stores `undo`
#   renew NUMBER SECONDS    prints `renewed`, `taken`, `free`, or as look
#   release NUMBER          ends the lease
#   watch NUMBER PAUSE      the watchdog: cleans up as soon as nobody renews the lease
LC_ALL=C; export LC_ALL; umask 022
sysfs=$1; folder=$2; command=$3; shift 3
if [ -z "$folder" ]; then
  for d in /tmp /data/local/tmp; do [ -d $d ] && [ -w $d ] && break; done
  folder=$d/trimtab-lease
fi
boot=; read -r boot 2>/dev/null </proc/sys/kernel/random/boot_id

. ./process_group.sh
. ./governor.sh
. ./lease_folder.sh

clock() { read -r up _ 2>/dev/null </proc/uptime || up=$(date +%s); up=${up%%.*}; }

is_number() { case $1 in '' | 0* | *[!0-9]*) return 1 ;; esac; [ ${#1} -le 9 ]; }

# Whether $1 is a file: no link, and no pipe that blocks its reader.
is_file() { [ -f "$1" ] && [ ! -L "$1" ]; }
# shellcheck disable=SC3067  # test -O: dash, bash, busybox and mksh have it
is_own_file() { is_file "$1" && [ -O "$1" ]; }

newest() {
  n=0
  for d in "$folder"/[0-9]*; do
    is_number "${d##*/}" && [ -d "$d" ] && [ ! -L "$d" ] && [ "${d##*/}" -gt "$n" ] && n=${d##*/}
  done
}

held() {
  b=; until=; clock
  is_file "$folder/$1/boot" && read -r b 2>/dev/null <"$folder/$1/boot"
  is_file "$folder/$1/until" && read -r until 2>/dev/null <"$folder/$1/until"
  [ "$b" = "$boot" ] && is_number "$until" && [ "$up" -lt "$until" ]
}

tell() {
  echo "held $1 ${up:-0} ${until:-0}"
  if is_file "$folder/$1/owner"; then cat "$folder/$1/owner" 2>/dev/null; fi
  true
}

# Ends the runners that lease $1 of this user notes, restores what it has changed, and prints what it
# did.
clean() (
  enter "$folder/$1" || exit 0
  b=; is_own_file boot && read -r b 2>/dev/null <boot
  [ "$b" = "$boot" ] || exit 0
  for r in runner.*; do
    is_own_file "$r" || continue
    about=${r#runner.}; pid=${about%.*}
    if ! is_number "$pid" || ! state "$pid"; then continue; fi
    # shellcheck disable=SC2154  # process_group.sh sets it
    [ "$started" = "${about#*.}" ] || continue
    outcome=$(end "$pid")
    if [ "$outcome" = ended ]; then echo "ended a stale runner (process $pid)"
    else echo "a stale runner does not end (process $pid)"; fi
  done
  if is_own_file undo; then
    while read -r file was now rest; do
      [ -n "$rest" ] || restore "$sysfs" "$file" "$was" "$now"
    done <undo
    rm -f undo
  fi
)

# Removes the folder of lease $1 of this user.
remove() {
  (enter "$folder/$1" && rm -f boot until owner owner.part undo runner.*) && rmdir "$folder/$1"
}

claim() {
  force=$1; seconds=$2; full=$3; shift 3
  # shellcheck disable=SC3067
  if [ ! -d "$folder" ]; then
    mkdir -p "${folder%/*}" || exit 1
    if mkdir "$folder"; then chmod 1777 "$folder"; elif [ ! -d "$folder" ]; then exit 1; fi
  elif [ -O "$folder" ] && [ ! -k "$folder" ]; then
    chmod +t "$folder"
  fi
  if [ -L "$folder" ]; then echo "$folder is a symbolic link" >&2; exit 1; fi
  folder=$(cd "$folder" && pwd -P) || exit 1
  # A folder without `owner` was made this very moment: its maker gets three seconds.
  newest; i=0
  while [ "$n" -gt 0 ] && [ ! -e "$folder/$n/owner" ] && [ $i -lt 3 ]; do
    sleep 1; i=$((i+1)); newest
  done
  old=$n; new=$((n+1))
  if [ "$old" -ne "$force" ] && held "$old"; then tell "$old"; exit; fi
  if ! mkdir "$folder/$new"; then newest; [ "$n" -ge $new ] && echo again && exit; exit 1; fi
  if [ "$old" -ne "$force" ] && held "$old"; then remove $new; tell "$old"; exit; fi
  clock
  (
    enter "$folder/$new" && echo "$boot" >boot && echo $((up+seconds)) >until \
      && printf '%s\n' "$@" "since=$up" >owner.part && mv -f owner.part owner
  ) || { remove $new; exit "$full"; }
  newest; if [ "$n" -ne $new ]; then remove $new; echo again; exit; fi
  for d in "$folder"/[0-9]*; do
    d=${d##*/}
    is_number "$d" && [ "$d" -lt $new ] && [ -O "$folder/$d/owner" ] && clean "$d" && remove "$d"
  done
  echo "taken $new $folder"
}

note() {
  number=$1; shift
  enter "$folder/$number" && printf '%s\n' "$@" >undo
}

# Overwrites `until` in place: the new text is as long or longer, so that a full disk has room.
renew() {
  newest
  if [ "$n" -eq "$1" ] && held "$n"; then
    (enter "$folder/$n" && is_file until && echo $((up+$2)) 1<>until) && echo renewed || exit 1
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
  (enter "$folder/$1" && rm -f until undo) && clean "$1" && (enter "$folder/$1" && rm -f runner.*)
}

# `until` goes first: a launch that begins now finds it missing, and does not begin.
watch() {
  while sleep "$2"; do
    [ -e "$folder/$1/until" ] || exit 0
    newest
    [ "$n" -eq "$1" ] && held "$1" && continue
    (enter "$folder/$1" && rm -f until)
    clean "$1"
    exit 0
  done
}

case $command in
  look) newest; if held "$n"; then tell "$n"; else echo "free $n"; fi ;;
  claim) claim "$@" ;;
  note) note "$@" ;;
  renew) renew "$@" ;;
  release) release "$@" 2>/dev/null; true ;;
  watch) watch "$@" ;;
esac
