#!/usr/bin/env bash
# Every package of deploy/release, in a bare Debian: it is installed, runs its demo, has its manual page, and is removed without
# remains. Building the packages twice gives equal files. Needs root (chroot), and the mirror once for each release of Debian.
# FLAMEGRID_SUITES: these releases; bookworm by default.
. "$(dirname "$0")/../support/harness.sh"
here=$(cd "$(dirname "$0")" && pwd)
unset LD_LIBRARY_PATH
version=$("$flamegrid" --version | sed 's/.* //')
packages=$BUILD/packages
roots=${FLAMEGRID_ROOTS:-$BUILD/roots}
mounts=()
at_end() {
	local place
	for place in "${mounts[@]}"; do umount "$place" 2>/dev/null; done
}

# make_root SUITE FOLDER: only man and pip are added to the least that Debian can be.
make_root() {
	debootstrap --variant=minbase --include=man-db,python3-pip "$1" "$2/root" >"$scratch/$1.log" 2>&1 || return
	rm -rf "$2"/root/var/cache/apt/archives/*.deb "$2"/root/var/lib/apt/lists/*
	rm -rf "${roots:?}/$1"
	cp -a "$2/root" "$roots/$1"
}

# bare_root SUITE: a root with nothing of ours. It is made in memory: dpkg syncs each file, and other tests would wait for that.
bare_root() {
	[ -e "$roots/$1.done" ] && return
	mkdir -p "$roots" "$scratch/made.$1"
	mount -t tmpfs tmpfs "$scratch/made.$1" || return
	make_root "$1" "$scratch/made.$1" && : >"$roots/$1.done"
	umount "$scratch/made.$1"
}

# have TOOL: whether it is there to look at the packages. Every night it must be.
have() {
	command -v "$1" >/dev/null && return
	if [ -n "${FLAMEGRID_NIGHTLY:-}" ]; then not_ok "$1 is missing"; else echo "skipped: $1 is missing"; fi
	return 1
}

# What an installation may leave: traces of the tools, not of ours.
files() {
	(cd "$root" && find . -xdev ! -type d -o -type d -path '*flamegrid*') |
		grep -vE '^./(var/(lib/dpkg|log|cache/(man|ldconfig|debconf))|run|tmp|root|usr/lib/sysimage|var/lib/rpm|proc|dev|sys)|__pycache__' | sort
}
inside() { chroot "$root" env -i PATH="${path:-/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin}" "$@"; }

# try KIND: the demo and the manual page of what is installed.
try() {
	inside flamegrid demo -o /tmp/demo >"$scratch/$1.out" 2>"$scratch/$1.err"
	same "$1: the demo's status" "$? $(head -n 3 "$scratch/$1.err")" "0 "
	contains "$1: it is simulated" "$scratch/$1.out" SIMULATED
	same "$1: records of the demo" "$(inside flamegrid report /tmp/demo --format json | python3 -c 'import json, sys
print(sum(entry["records"] for entry in json.load(sys.stdin)["devices"]))')" 71400
	inside man -P cat flamegrid >"$scratch/$1.man" 2>&1
	contains "$1: man flamegrid" "$scratch/$1.man" "GPU flame graphs of whole jobs"
	rm -rf "$root"/tmp/demo*
}

# start_root SUITE KIND: a copy of the root on which only the changes are written.
start_root() {
	root=$scratch/$1.$2
	mkdir -p "$root" "$scratch/$1.$2.top"
	mount -t tmpfs tmpfs "$scratch/$1.$2.top" || return
	mkdir "$scratch/$1.$2.top"/{upper,work}
	mount -t overlay overlay -o "lowerdir=$roots/$1,upperdir=$scratch/$1.$2.top/upper,workdir=$scratch/$1.$2.top/work" "$root" || return
	mount -t proc proc "$root/proc"
	mount --bind /sys "$root/sys"
	mkdir -p "$root/mnt/packages"
	mount --bind "$packages" "$root/mnt/packages"
	mounts=("$root/mnt/packages" "$root/sys" "$root/proc" "$root" "$scratch/$1.$2.top" "${mounts[@]}")
	files >"$scratch/before"
}
end_root() {
	files >"$scratch/after"
	same "$1: remains" "$(comm -13 "$scratch/before" "$scratch/after" | head -n 5)" ""
	same "$1: lacks" "$(comm -23 "$scratch/before" "$scratch/after" | head -n 5)" ""
	at_end
	mounts=()
}

debian() {
	start_root "$1" deb || return
	inside sh -c 'dpkg -i /mnt/packages/*.deb' >"$scratch/dpkg" 2>&1
	same "$1: dpkg -i" $? 0
	try "$1.deb"
	for unit in agent aggregator; do
		contains "$1: the page of flamegrid-$unit.service" "$root/usr/lib/systemd/system/flamegrid-$unit.service" "Documentation=man:flamegrid-$unit(8)"
		check "$1: there is that page" [ -s "$root/usr/share/man/man8/flamegrid-$unit.8.gz" ]
	done
	inside dpkg -P flamegrid-dev flamegrid-slurm flamegrid flamegrid-inject >>"$scratch/dpkg" 2>&1
	same "$1: dpkg -P" $? 0
	end_root "$1.deb"
}

tarball() {
	start_root "$1" tarball || return
	mkdir -p "$root/opt/site"
	tar -xzf "$packages"/flamegrid-*-linux-x86_64.tar.gz -C "$root/opt/site" --strip-components=1
	path=/opt/site/bin:/usr/bin:/bin try "$1.tarball"
	rm -rf "$root/opt/site"
	end_root "$1.tarball"
}

wheel() {
	start_root "$1" wheel || return
	inside sh -c 'pip install -q --no-index --no-deps --root-user-action ignore $(pip install --help | grep -o -- --break-system-packages) /mnt/packages/*.whl' >"$scratch/pip" 2>&1
	same "$1: pip install" $? 0
	try "$1.wheel"
	inside python3 -B -c 'import flamegrid; print(flamegrid.__name__)' >"$scratch/import" 2>&1
	same "$1: the Python package" "$(cat "$scratch/import")" flamegrid
	inside sh -c 'pip uninstall -q -y --root-user-action ignore $(pip install --help | grep -o -- --break-system-packages) flamegrid' >>"$scratch/pip" 2>&1
	same "$1: pip uninstall" $? 0
	end_root "$1.wheel"
}

requires() { rpm -qp --nosignature --requires "$packages"/$1*.rpm | grep -v '^rpmlib\|^/bin/sh$' | sort | paste -sd' '; }

# By the host's rpm, as Debian has no RPM packages that could satisfy what these depend on.
by_rpm() {
	start_root "$1" rpm || return
	same "$1: what the RPM of the programs requires" "$(requires 'flamegrid-[0-9]')" "flamegrid-inject = $version glibc >= 2.34"
	same "$1: what the RPM of the library requires" "$(requires flamegrid-inject)" "glibc >= 2.17"
	same "$1: what the RPM of the plugin requires" "$(requires flamegrid-slurm)" "flamegrid = $version glibc >= 2.34"
	rpm -qp --nosignature --scripts "$packages"/flamegrid-[0-9]*.rpm >"$scratch/scripts"
	contains "$1: an upgrade restarts the services" "$scratch/scripts" "[ \$1 -lt 2 ] || [ ! -d /run/systemd/system ] || systemctl try-restart"
	rpm --root "$root" --dbpath /var/lib/rpm -i --nodeps --nosignature "$packages"/*.rpm >"$scratch/rpm" 2>&1
	same "$1: rpm -i" $? 0
	try "$1.rpm"
	rpm --root "$root" --dbpath /var/lib/rpm -e --nodeps flamegrid-dev flamegrid-slurm flamegrid flamegrid-inject >>"$scratch/rpm" 2>&1
	same "$1: rpm -e" $? 0
	end_root "$1.rpm"
}

# The image alone is the root.
image() {
	root=$scratch/image
	mkdir "$root" "$scratch/layout"
	tar -xf "$packages"/flamegrid-*-oci.tar -C "$scratch/layout"
	python3 "$here/oci_layout.py" "$scratch/layout" "$root"
	same "image: digests, sizes and layers" $? 0
	mkdir -p "$root"/{proc,sys,dev}
	mount -t proc proc "$root/proc"
	mount --bind /sys "$root/sys"
	mount --bind /dev "$root/dev"
	mounts=("$root/proc" "$root/sys" "$root/dev")
	chroot "$root" /opt/flamegrid/bin/flamegrid demo -o /tmp/demo >"$scratch/image.out" 2>&1
	same "image: the demo's status" $? 0
	contains "image: it recorded" "$scratch/image.out" " 16,800 "
	if have skopeo; then
		skopeo inspect --raw "oci-archive:$(ls "$packages"/flamegrid-*-oci.tar)" >"$scratch/manifest"
		same "image: skopeo reads it" $? 0
	fi
	at_end
	mounts=()
}

for suite in ${FLAMEGRID_SUITES:-bookworm}; do bare_root "$suite"; done &
"$here/../../../deploy/release" "$BUILD" "$scratch/again" >"$scratch/release.log" 2>&1
same "the packages are built again" "$? $(grep '^no ' "$scratch/release.log")" "0 "
same "two builds are equal" "$(cat "$scratch/again/SHA256SUMS")" "$(cat "$packages/SHA256SUMS")"
same "kinds" "$(sed 's/.*[._]//' "$packages/SHA256SUMS" | sort | uniq -c | tr -s '\n ' ' ')" " 4 deb 1 gz 4 rpm 1 tar 1 whl "
(cd "$packages" && sha256sum --quiet -c SHA256SUMS)
same "the sums" $? 0
if [ -n "${FLAMEGRID_NIGHTLY:-}" ] && have lintian; then
	lintian --allow-root --fail-on error,warning "$packages"/*.deb >"$scratch/lintian" 2>&1
	same "lintian" "$? $(grep '^[EW]:' "$scratch/lintian")" "0 "
fi
wait
for suite in ${FLAMEGRID_SUITES:-bookworm}; do
	check "$suite: there is a bare root" [ -e "$roots/$suite.done" ]
	[ -e "$roots/$suite.done" ] || { tail -n 5 "$scratch/$suite.log"; continue; }
	for kind in debian tarball wheel by_rpm; do $kind "$suite"; done
done
image
