#!/usr/bin/env bash
# Installs the packages of FOLDER/debs in a clean Debian, uses them, removes them, and looks at what is left. Called by test_package.sh.
# SINEW_MIRROR: another mirror; SINEW_APTOPT: a file of apt's configuration (a proxy), for mmdebstrap.
set -euo pipefail
folder=$1 root=$1/root
mirror=${SINEW_MIRROR:-http://deb.debian.org/debian}
if command -v mmdebstrap > /dev/null; then
  mmdebstrap --quiet --variant=minbase ${SINEW_APTOPT:+--aptopt="$SINEW_APTOPT"} bookworm "$root" "$mirror" > "$folder/bootstrap" 2>&1
else
  debootstrap --variant=minbase bookworm "$root" "$mirror" > "$folder/bootstrap" 2>&1
fi || { tail -3 "$folder/bootstrap"; echo "not installed in a clean system: no Debian could be had from $mirror"; exit 0; }
inside() { DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
cp /etc/resolv.conf "$root/etc/" 2> /dev/null || true
mkdir "$root/debs" && cp "$folder"/debs/*.deb "$root/debs/"
inside find / -xdev -path /proc -prune -o -path /debs -prune -o -name '*sinew*' -print > "$folder/before"
inside apt-get update -qq
inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/*.deb' > "$folder/install" 2>&1 || { tail "$folder/install"; exit 1; }
inside sinew gen bar -o /tmp/bar --frames 8 --quiet
inside sinew train --method lbs --rest /tmp/bar/rest.obj --frames /tmp/bar/frames.pc2 --skeleton /tmp/bar/skeleton.glb -o /tmp/tool.model.sinew --quiet
inside python3 -c 'import sinew; sinew.train("lbs", "/tmp/bar/rest.obj", "/tmp/bar/frames.pc2", "/tmp/bar/skeleton.glb").save("/tmp/module.sinew")'
cmp "$root/tmp/tool.model.sinew" "$root/tmp/module.sinew"
rm -f "$root"/tmp/*.sinew
inside sh -c 'apt-get purge -y -qq sinew libsinew0.2 libsinew-runtime0.2 libsinew-dev python3-sinew' > "$folder/purge" 2>&1 || { tail "$folder/purge"; exit 1; }
inside find / -xdev -path /proc -prune -o -path /debs -prune -o -path /var/lib/apt -prune -o -name '*sinew*' -print > "$folder/after"
diff "$folder/before" "$folder/after" || { echo "the packages leave something behind"; exit 1; }
echo "installed, used and removed in a clean system"
