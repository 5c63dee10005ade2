#!/bin/sh
# Functions for the frequency governors of cores.

# restore SYSFS FILE WAS NOW: writes WAS into a core's governor below SYSFS that is still NOW. The
# words may come from a file: FILE names nothing else, WAS and NOW are words of a kernel.
restore() {
  core=${2#devices/system/cpu/cpu}; core=${core%/cpufreq/scaling_governor}
  case $core in '' | *[!0-9]*) return 0 ;; esac
  [ "$2" = "devices/system/cpu/cpu$core/cpufreq/scaling_governor" ] || return 0
  case $3 in '' | *[!A-Za-z0-9_]*) return 0 ;; esac
  current=; read -r current 2>/dev/null <"$1/$2" || return 0
  [ "$current" != "$4" ] || echo "$3" >"$1/$2"
}
