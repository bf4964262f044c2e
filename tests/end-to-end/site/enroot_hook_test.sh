#!/usr/bin/env bash
# What enroot's hook makes of a made environment: the mounts and variables that the container gets.
. "$(dirname "$0")/../support/harness.sh"
unset LD_LIBRARY_PATH FLAMEGRID_ROOT FLAMEGRID_STEP
hook=$(dirname "$0")/../../../deploy/enroot/50-flamegrid.sh
root=$scratch/site
library=$root/lib/libflamegrid_inject.so
sockets=$scratch/sockets
at_end() { kill $listener 2>/dev/null; }
mkdir -p "$root/lib" "$sockets" "$scratch/other"
: >"$library"
: >"$scratch/other/libflamegrid_inject.so"
mkfifo "$scratch/ready"
python3 -c 'import socket, sys, signal
for path in sys.argv[1:]:
	s = socket.socket(socket.AF_UNIX); s.bind(path)
print("ready", flush=True); signal.pause()' "$sockets/agent" "$scratch/other/agent" >"$scratch/ready" &
listener=$!
read -r _ <"$scratch/ready"

# start NAME=VALUE...: the hook as enroot runs it, for an image that has /etc and what $image names.
image=
start() {
	rm -rf "$scratch/rootfs"
	mkdir -p "$scratch/rootfs/etc" ${image:+"$scratch/rootfs$image"}
	printf 'LANG=C\n%s' "${inside:-}" >"$scratch/environ"
	printf '/proc /proc none rbind\n' >"$scratch/mounts"
	env -i PATH="$PATH" ENROOT_ROOTFS="$scratch/rootfs" ENROOT_ENVIRON="$scratch/environ" ENROOT_MOUNTS="$scratch/mounts" "$@" \
		bash "$hook" >"$scratch/out" 2>"$scratch/err"
	same "the hook's status" $? 0
	same "its output" "$(cat "$scratch/out")" ''
	sed 1d "$scratch/mounts" >"$scratch/new.mounts"
	sed '/^LANG=/d' "$scratch/environ" | LC_ALL=C sort >"$scratch/new.environ"
	same "what was there stays" "$(head -n 1 "$scratch/mounts" "$scratch/environ" | grep -c 'rbind$\|^LANG=C$')" 2
}
options=bind,ro,nosuid,nodev
directory() { printf '%s %s none x-create=dir,%s,private,nofail\n' "$1" "$1" "$options${2:-}"; }
file() { printf '%s %s none x-create=file,%s,private,nofail\n' "$1" "$1" "$options${2:-}"; }
mounted() { same "$1" "$(cat "$scratch/new.mounts")" "$2"; }
kept() { same "$1" "$(tr '\n' ' ' <"$scratch/new.environ")" "$2"; }

start HOME=/root CUDA_VISIBLE_DEVICES=0
mounted "not profiled: nothing is mounted" ''
kept "not profiled: no variable" ''
same "not profiled: no words" "$(cat "$scratch/err")" ''
start CUDA_INJECTION64_PATH=/opt/other/libinject.so FLAMEGRID_SOCKET="$sockets/agent"
mounted "another's injection: nothing is mounted" ''
kept "another's injection: no variable" ''

profiled=(CUDA_INJECTION64_PATH="$library" FLAMEGRID_SOCKET="$sockets/agent" FLAMEGRID_STACKS=leaf)
start FLAMEGRID_ROOT="$root" "${profiled[@]}" NCCL_PROFILER_PLUGIN="$library" NVTX_INJECTION64_PATH=/opt/nvtx.so HOME=/root
mounted "profiled: the installation and the socket's directory" "$(directory "$root"; directory "$sockets" ,noexec)"
kept "profiled: our variables alone" "CUDA_INJECTION64_PATH=$library FLAMEGRID_ROOT=$root FLAMEGRID_SOCKET=$sockets/agent FLAMEGRID_STACKS=leaf NCCL_PROFILER_PLUGIN=$library "
start CUDA_INJECTION64_PATH="$scratch/other/libflamegrid_inject.so" NVTX_INJECTION64_PATH="$scratch/other/libflamegrid_inject.so"
mounted "an installation elsewhere: the library alone" "$(file "$scratch/other/libflamegrid_inject.so")"
kept "an installation elsewhere: the variables" "CUDA_INJECTION64_PATH=$scratch/other/libflamegrid_inject.so NVTX_INJECTION64_PATH=$scratch/other/libflamegrid_inject.so "

image=$root
start FLAMEGRID_ROOT="$root" "${profiled[@]}"
mounted "an image with a directory of that name keeps it" "$(file "$library"; directory "$sockets" ,noexec)"
image=$scratch/other
start FLAMEGRID_ROOT="$root" CUDA_INJECTION64_PATH="$library" FLAMEGRID_SOCKET="$scratch/other/agent"
mounted "a socket in a directory of the image: the socket alone" "$(directory "$root"; file "$scratch/other/agent" ,noexec)"
image=
inside=$'CUDA_INJECTION64_PATH=/opt/other/libinject.so\n' start FLAMEGRID_ROOT="$root" "${profiled[@]}"
mounted "the image's own injection: nothing is mounted" ''
kept "the image's own injection stays" "CUDA_INJECTION64_PATH=/opt/other/libinject.so "
contains "the image's own injection: it is said" "$scratch/err" "it runs unprofiled"
inside=$'NCCL_PROFILER_PLUGIN=mine\n' start FLAMEGRID_ROOT="$root" "${profiled[@]}" NCCL_PROFILER_PLUGIN="$library"
same "the image's own plugin stays" "$(grep NCCL "$scratch/environ")" NCCL_PROFILER_PLUGIN=mine

start CUDA_INJECTION64_PATH="$scratch/missing/libflamegrid_inject.so" FLAMEGRID_SOCKET="$sockets/agent"
mounted "no library on this host: nothing is mounted" ''
kept "no library on this host: no variable" ''
contains "no library on this host: it is said" "$scratch/err" "is not on this host"
start FLAMEGRID_ROOT="$root" CUDA_INJECTION64_PATH="$library" FLAMEGRID_SOCKET="$scratch/missing/agent"
mounted "no socket on this host: the installation alone" "$(directory "$root")"
start FLAMEGRID_ROOT="$root" "${profiled[@]}" FLAMEGRID_API=$'one\ntwo'
same "a line break cannot forge a variable" "$(grep -c 'API\|two' "$scratch/environ")" 0
mv "$root" "$scratch/a site"
start FLAMEGRID_ROOT="$scratch/a site" CUDA_INJECTION64_PATH="$scratch/a site/lib/libflamegrid_inject.so"
mounted "blanks in a path" "$(directory "$scratch/a\\040site")"
mv "$scratch/a site" "$root"

start FLAMEGRID_ROOT="$root/" CUDA_INJECTION64_PATH="$library"
mounted "a slash at the end of FLAMEGRID_ROOT" "$(directory "$root")"
start FLAMEGRID_ROOT=/ CUDA_INJECTION64_PATH="$library"
mounted "an installation in / hides nothing" "$(file "$library")"

# Pyxis starts the container before the task, and what runs in it begins to profile itself.
start FLAMEGRID_ROOT="$root" SLURM_JOB_ID=1
mounted "asked for by FLAMEGRID_ROOT: the installation" "$(directory "$root")"
kept "asked for by FLAMEGRID_ROOT: the variable" "FLAMEGRID_ROOT=$root "
start FLAMEGRID_ROOT="$scratch/missing"
mounted "no installation there: nothing is mounted" ''

# Without the file for mounts they are made at once.
mkdir "$scratch/bin"
printf '#!/bin/sh\necho "$@" >%s\ncat >>%s\n' "$scratch/called" "$scratch/called" >"$scratch/bin/enroot-mount"
chmod +x "$scratch/bin/enroot-mount"
start FLAMEGRID_ROOT="$root" ENROOT_MOUNTS= PATH="$scratch/bin:$PATH"
same "an enroot without ENROOT_MOUNTS" "$(cat "$scratch/called")" "$(echo "--root $scratch/rootfs -"; directory "$root")"
