#!/bin/sh
# settle.sh DIRECTORY CHECKED RUNS PROGRAM...: makes trimtab's directory, and prints KEY=VALUE lines.
#
# `boot` is the boot id, `folder` the directory's real path. In another boot than CHECKED there is also
# what prevents work here: `missing`, a PROGRAM that does not exist; `closed`, why the directory takes
# no files; `noexec`, why it runs no programs (only with RUNS "yes"). A shell runs an empty file.
umask 077
directory=$1; checked=$2; runs=$3; shift 3
boot=; { read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
echo "boot=$boot"
is_known=; [ -n "$boot" ] && [ "$boot" = "$checked" ] && is_known=yes
if [ -z "$is_known" ]; then
  lacks=
  for p in "$@"; do command -v "$p" >/dev/null || { lacks=yes; echo "missing=$p"; }; done
  [ -z "$lacks" ] || exit 0
fi
mkdir -p "$directory" && cd "$directory" || exit 1
echo "folder=$(pwd -P)"
[ -z "$is_known" ] || exit 0
mkdir -p cache scratch || exit 1
for d in cache scratch; do
  f=$d/check.$$
  why=$( (: >"$f" && chmod 700 "$f") 2>&1) || { echo "closed=$why"; exit 0; }
  [ "$runs" != yes ] || why=$( ("./$f") 2>&1) || echo "noexec=$why"
  rm -f "$f"
done
