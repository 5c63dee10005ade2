#!/bin/sh
# energy.sh SYSFS PAUSE COMMAND...: runs a command, and prints the energy counters of this machine on
# stderr before, after and every PAUSE seconds.
#
# A line: prefix, seconds of uptime, kind, source, value, and the range of a counter or the state of
# a battery. Files are read by the shell alone: a program for each would cost more than the command.
# A Raspberry Pi 5 tells the rails of its power management by vcgencmd: "VDD_CORE_A current(7)=1.93A"
# and, in a later line, "VDD_CORE_V volt(15)=0.72V".
sysfs=$1; pause=$2; shift 2
rails=
if command -v vcgencmd >/dev/null && command -v awk >/dev/null; then rails=1; fi
get() { v=; [ -r "$1" ] && read -r v 2>/dev/null <"$1"; [ -n "$v" ]; }
say() { echo "trimtab-energy $now $*" >&2; }
sample() {
  read -r now _ </proc/uptime
  for d in "$sysfs"/class/powercap/*:*; do
    get "$d/energy_uj" && e=$v && get "$d/max_energy_range_uj" && r=$v && get "$d/name" &&
      say counter "powercap ${d##*/} $v=$e,$r"
  done
  for d in "$sysfs"/class/hwmon/hwmon*; do
    get "$d/name" || continue
    chip="${d##*/} $v"
    for f in "$d"/energy*_input; do get "$f" && say counter "hwmon $chip ${f##*/}=$v,0"; done
    some=
    for f in "$d"/power*_input; do get "$f" && some=1 && say power "hwmon $chip ${f##*/}=$v,0"; done
    case "$some$chip" in *\ ina*) [ -n "$some" ] && continue ;; *) continue ;; esac
    for f in "$d"/curr*_input; do
      n=${f##*/curr}; n=${n%_input}
      get "$f" && c=$v && get "$d/in${n}_input" && say power "hwmon $chip curr$n*in$n=$((c * v)),0"
    done
  done
  for d in "$sysfs"/class/power_supply/*; do
    get "$d/status" || continue
    s=$v; name=${d##*/}
    get "$d/voltage_now" || continue
    u=$v
    get "$d/current_now" && say battery "power_supply $name current_now*voltage_now=$v,$u,$s"
    get "$d/charge_counter" && say charge "power_supply $name charge_counter=$v,$u,$s"
  done
  [ -z "$rails" ] || vcgencmd pmic_read_adc 2>/dev/null | awk -v begin="trimtab-energy $now" '
    function value(text) { sub(/.*=/, "", text); return text + 0 }
    function micro(x) { return sprintf("%.0f", x * 1000000) }
    { rail = substr($1, 1, length($1) - 2) }
    $1 ~ /_A$/ && $2 ~ /=-?[0-9.]+A$/ { amperes[rail] = value($2) }
    $1 ~ /_V$/ && $2 ~ /=[0-9.]+V$/ && rail in amperes {
      print begin, "rail pmic " rail "=" micro(amperes[rail]) "," micro(value($2))
      watts += amperes[rail] * value($2); count++
    }
    END { if (count) print begin, "power pmic sum of " count " rails=" micro(watts) ",0" }' >&2
}
trap '[ -n "$!" ] || exit 143; asked=1; kill $! 2>/dev/null' HUP INT TERM
sample
asked=
"$@" &
child=$!
while sleep "$pause"; do
  [ -n "$asked" ] && kill $child 2>/dev/null  # a shell that has just forked loses the first
  kill -0 $child 2>/dev/null; ended=$?
  sample
  [ $ended = 0 ] || break
done
wait $child
