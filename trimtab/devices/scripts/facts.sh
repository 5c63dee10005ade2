#!/bin/sh
# facts.sh SYSFS: prints facts of this machine as KEY=VALUE lines, and lines "KEY : VALUE" of the
# kernel; unknown ones are left out.
sysfs=$1
echo "machine=$(uname -m)"; echo "kernel=$(uname -sr)"
read -r id 2>/dev/null </proc/sys/kernel/random/boot_id && echo "boot_id=$id"
grep -sE '^(processor|model name|CPU implementer|CPU part|uarch)[[:space:]]*:' /proc/cpuinfo
grep -s '^MemTotal:' /proc/meminfo
for f in "$sysfs"/devices/system/cpu/cpu[0-9]*/cpufreq; do
  [ -r "$f/scaling_governor" ] && echo "governor=$(cat "$f/scaling_governor")"
  [ -r "$f/scaling_cur_freq" ] && echo "khz=$(cat "$f/scaling_cur_freq")"
done
for z in "$sysfs"/class/thermal/thermal_zone[0-9]*; do
  [ -r "$z/temp" ] && echo "zone=$(cat "$z/type" 2>/dev/null) $(cat "$z/temp" 2>/dev/null)"
done
grep -qs 'linux,dummy-virt' /proc/device-tree/compatible && echo "emulator=qemu"
true
