#!/bin/sh
# /etc/rc of the QEMU board: mounts file systems, loads the modules for the network in the order of
# /modules/order, and starts the SSH server.
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o size=75%,mode=700 tmpfs /root
mkdir -m 700 /root/.ssh
cp /etc/authorized_keys /root/.ssh/
while read -r module; do
  [ -f "/modules/$module.ko" ] && insmod "/modules/$module.ko"
done </modules/order
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
dropbear -s -j -k -W 1048576 -r /etc/dropbear_host_key && echo "trimtab board is ready" >/dev/console
