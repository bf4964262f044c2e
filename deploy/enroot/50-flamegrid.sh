#!/usr/bin/env bash
# Enroot's hook (its hooks.d; docs/how-to/containers.md): brings into a profiled job's container what it needs there. Enroot runs it before a container starts,
# with the host's environment, and starts none whose hook fails: this one never does. Jobs that are not profiled are left alone.
inject=libflamegrid_inject.so
library=${CUDA_INJECTION64_PATH:-} socket=${FLAMEGRID_SOCKET:-} root=${FLAMEGRID_ROOT:-/opt/flamegrid}
root=${root%/}
[ "${library##*/}" = $inject ] || library=
# Under pyxis containers start before their tasks, so that only these two can tell.
wanted=${FLAMEGRID_ROOT:-}${FLAMEGRID_STEP+step}
[ -n "$library$wanted" ] && [ -n "${ENROOT_ROOTFS:-}" ] && [ -n "${ENROOT_ENVIRON:-}" ] || exit 0

say() { printf 'flamegrid: enroot: %s\n' "$*" >&2; }
value_inside() { sed -n "s/^$1=//p" "$ENROOT_ENVIRON" 2>/dev/null | tail -n 1; } # of what was set so far, the last one holds

inside=$(value_inside CUDA_INJECTION64_PATH)
if [ -n "$inside" ] && [ "${inside##*/}" != $inject ]; then
	say "CUDA_INJECTION64_PATH is $inside in the container and is left alone: it runs unprofiled"
	exit 0
fi
if [ -n "$library" ] && [ ! -r "$library" ]; then
	say "$library is not on this host: the container runs unprofiled"
	exit 0
fi

# At the same path inside, read-only (sockets take connections all the same). fstab(5) has blanks and backslashes as octal numbers.
mounts=
add_mount() { # PATH dir|file OPTIONS
	local path=${1//\\/\\134}
	path=${path// /\\040}
	path=${path//$'\t'/\\011}
	case $path in
	*$'\n'*) say "a path with a line break is not mounted" ;;
	/*) mounts+="$path $path none x-create=$2,bind,ro,nosuid,nodev${3:+,$3},private,nofail"$'\n' ;;
	esac
}
# The whole directory; where the image has one of that name, only what is needed of it, so that nothing of the image is hidden.
add_directory() { # DIRECTORY FILE OPTIONS
	if [ ! -e "$ENROOT_ROOTFS$1" ]; then
		add_mount "$1" dir "$3"
	elif [ -e "$2" ]; then
		add_mount "$2" file "$3"
	fi
}
case $library in
"$root"/*) add_directory "$root" "$library" '' ;;
*)
	[ -z "$library" ] || add_mount "$library" file ''
	[ -z "$wanted" ] || [ ! -d "$root" ] || add_directory "$root" '' ''
	;;
esac
if [ -S "$socket" ]; then add_directory "${socket%/*}" "$socket" noexec; fi

if [ -n "${ENROOT_MOUNTS:-}" ]; then
	printf %s "$mounts" >>"$ENROOT_MOUNTS"
elif [ -n "$mounts" ]; then # earlier releases of enroot have no such file
	printf %s "$mounts" | enroot-mount --root "$ENROOT_ROOTFS" -
fi

keep() {
	case ${!1} in
	*$'\n'*) say "$1 has a line break and is not kept" ;;
	*) printf '%s=%s\n' "$1" "${!1}" >>"$ENROOT_ENVIRON" ;;
	esac
}
for name in $(compgen -e FLAMEGRID_); do keep "$name"; done
for name in CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH NCCL_PROFILER_PLUGIN; do
	value=${!name:-}
	# Ours alone, and not over what the image or its user has chosen.
	if [ -n "$library" ] && [ "${value##*/}" = $inject ] && [ -z "$(value_inside $name)" ]; then keep $name; fi
done
exit 0
