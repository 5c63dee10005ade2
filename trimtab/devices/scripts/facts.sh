#!/bin/sh
# facts.sh SYSFS: prints facts of this machine as KEY=VALUE lines; unknown ones are left out.
sysfs=$1
echo "machine=$(uname -m)"; echo "kernel=$(uname -sr)"
read -r id 2>/dev/null </proc/sys/kernel/random/boot_id && echo "boot_id=$id"
grep -E '^(processor|model name|CPU implementer|CPU part|uarch)[[:space:]]*:' /proc/cpuinfo \
  2>/dev/null | sed 's/[[:space:]]*:[[:space:]]*/=/'
grep '^MemTotal:' /proc/meminfo 2>/dev/null | sed 's/:[[:space:]]*/=/'
for f in "$sysfs"/devices/system/cpu/cpu[0-9]*/cpufreq; do
  [ -r "$f/scaling_governor" ] && echo "governor=$(cat "$f/scaling_governor")"
  [ -r "$f/scaling_cur_freq" ] && echo "khz=$(cat "$f/scaling_cur_freq")"
done
for z in "$sysfs"/class/thermal/thermal_zone[0-9]*; do
  [ -r "$z/temp" ] && echo "zone=$(cat "$z/type" 2>/dev/null) $(cat "$z/temp" 2>/dev/null)"
done
[ -r /proc/device-tree/compatible ] && echo "board=$(tr '\0' ' ' </proc/device-tree/compatible)"
true
