#!/usr/bin/env bash
# A profiled program in a container of enroot's making: a root of its own that has nothing of ours but the hook's two mounts (and /proc, as every container), and an environment that has
# nothing but what the hook keeps. Needs root (mounts, chroot).
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
export hook=$(dirname "$0")/../../../deploy/enroot/50-flamegrid.sh scratch
site=$scratch/site
mkdir -p "$site/bin" "$site/lib"
cp "$flamegrid" "$site/bin/"
cp "$BUILD/lib/libflamegrid_inject.so" "$site/lib/"

# The image: a C library, a program, a driver.
image=$scratch/image
mkdir -p "$image"/{lib64,lib/x86_64-linux-gnu,job,proc,tmp}
cp -L /lib64/ld-linux-x86-64.so.2 "$image/lib64/"
for library in libdl.so.2 libpthread.so.0 $(ldd "$fake_launches" "$BUILD"/lib/fake-cuda/lib*.so "$site/lib/libflamegrid_inject.so" "$(command -v env)" |
	awk '$3 ~ "^/" && $1 !~ /^libcu/ { print $3 }' | sort -u); do
	cp -L "/lib/x86_64-linux-gnu/${library##*/}" "$image/lib/x86_64-linux-gnu/"
done
cp "$fake_launches" "$(command -v env)" "$image/job/"
cp -a "$BUILD"/lib/fake-cuda/lib*.so* "$image/job/"
printf 'LD_LIBRARY_PATH=/job\nFAKE_CUDA_DEVICES=2\nFAKE_CUDA_TRUTH=/job/truth\n' >"$image/environment"

# container ROOT COMMAND...: as enroot does, the hook, then its mounts, then the new root with the environment file alone.
cat >"$scratch/container" <<-'TEXT'
	rootfs=$1
	shift
	cp "$rootfs/environment" "$rootfs.environ"
	: >"$rootfs.mounts"
	ENROOT_ROOTFS=$rootfs ENROOT_ENVIRON=$rootfs.environ ENROOT_MOUNTS=$rootfs.mounts bash "$hook" || exit 99
	while read -r from to _ options _; do
		case $options in
		*x-create=dir*) mkdir -p "$rootfs$to" ;;
		*x-create=file*) mkdir -p "$rootfs${to%/*}" && : >>"$rootfs$to" ;;
		esac
		mount --bind "$from" "$rootfs$to" && mount -o remount,bind,ro "$rootfs$to" || exit 98
	done <"$rootfs.mounts"
	mount --rbind /proc "$rootfs/proc" || exit 97
	mapfile -t environ <"$rootfs.environ"
	exec chroot "$rootfs" /job/env -i "${environ[@]}" "$@"
TEXT

# begin NAME UNSHARE-OPTIONS...: a profile of one container with those namespaces.
begin() {
	local name=$1
	shift
	cp -a "$image" "$scratch/$name.root"
	FLAMEGRID_ROOT=$site "$site/bin/flamegrid" run -o "$scratch/$name" --devices "$list" -- \
		unshare "$@" bash "$scratch/container" "$scratch/$name.root" /job/fake_launches --launches 5000 --kernels 3 >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	contains "$name: all matched" "$scratch/$name.err" "100.00 % matched"
	compare_with_truth "$scratch/$name" "$scratch/$name.root/job/truth" "$name"
	same "$name: nothing is lost" "$("$flamegrid" report "$scratch/$name" --format json | tr -d ' \n' | grep -o '"ledger":\[[^]]*\]')" '"ledger":[]'
	"$flamegrid" report "$scratch/$name" --format folded >"$scratch/$name.folded"
	# Of a program this short the names may not have been looked up before its files were gone with it.
	same "$name: stacks from the thread's start to the launch" "$(grep -cE '^\[thread start\];([^;]*;){4}\[GPU0_Kernel\]k[0-2] [0-9]*$' "$scratch/$name.folded")" 3
	same "$name: mounts" "$(grep -c . "$scratch/$name.root.mounts")" 2
	same "$name: the host sees none of them" "$(grep -c "$scratch/$name.root" /proc/self/mounts)" 0
}
begin "a mount namespace" --mount
# The kernel gives no user namespace to who is in a chroot; some systems give none to anybody.
if unshare --user --map-root-user --mount true 2>"$scratch/user.err"; then
	begin "a user's namespaces" --user --map-root-user --mount
	begin "namespaces of its own" --user --map-root-user --mount --pid --fork --ipc --uts
else
	echo "left out: user namespaces ($(cat "$scratch/user.err"))"
	begin "namespaces of its own, of root's" --mount --pid --fork --ipc --uts
fi

# Without flamegrid run the container is what it would be without the hook.
cp -a "$image" "$scratch/plain.root"
unshare --mount bash "$scratch/container" "$scratch/plain.root" /job/env >"$scratch/plain.env"
same "unprofiled: status" $? 0
same_lines "unprofiled: the image's environment alone" "$scratch/plain.env" "$image/environment"
same "unprofiled: no mounts" "$(grep -c . "$scratch/plain.root.mounts")" 0
