#!/usr/bin/env bash
# The tarball on a machine with nothing of ours installed: a root that holds only the tarball, a C library for the job,
# and the fake driver. Needs root (chroot).
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
tarball=$(ls "$BUILD"/packages/flamegrid-*-linux-x86_64.tar.gz)
root=$scratch/root
mkdir -p "$root"/{opt,tmp,proc,dev,lib64,lib/x86_64-linux-gnu,job,sys}
tar -xzf "$tarball" -C "$root/opt"
name=$(ls "$root/opt")
check "at most 64 MiB unpacked" [ "$(du -sm "$root/opt" | cut -f1)" -le 64 ]
for file in include/flamegrid.h lib/pkgconfig/flamegrid.pc lib/cmake/flamegrid/flamegrid-config.cmake; do
	check "has $file" [ -s "$root/opt/$name/$file" ]
done
for file in flamegrid/python/flamegrid/views.sql man/man1/flamegrid.1 man/man1/flamegrid-run.1 man/man5/flamegrid.conf.5 man/man8/flamegrid-agent.8 \
	bash-completion/completions/flamegrid zsh/site-functions/_flamegrid fish/vendor_completions.d/flamegrid.fish; do
	check "has $file" [ -s "$root/opt/$name/share/$file" ]
done
check "its documents' links lead somewhere" python3 "$(dirname "$0")/../../structure/links_test.py" "$root/opt/$name/share/flamegrid"
# shellcheck source=/dev/null
. "$(dirname "$0")/../support/daemon_harness.sh"
at_end() {
	kill -9 $daemon $agent 2>/dev/null
	umount "$root/proc" "$root/dev" 2>/dev/null
}
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"

# The job's own C library and programs; nothing of ours is in these.
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libtinfo.so.6; do
	cp -L "/lib/x86_64-linux-gnu/$library" "$root/lib/x86_64-linux-gnu/"
done
cp "$fake_launches" "$root/job/"
cp -a "$BUILD"/lib/fake-cuda/lib*.so* "$root/job/"
cp "$list" "$root/job/devices"
cp /bin/bash "$root/job/"
cp "$(command -v env)" "$root/job/"

inside() { chroot "$root" /job/env -i "$@"; }
inside "/opt/$name/bin/flamegrid" --version >"$scratch/version"
same "starts" $? 0
inside LD_LIBRARY_PATH=/job FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=/job/truth "/opt/$name/bin/flamegrid" run -o /job/profile \
	--devices /job/devices -- /job/fake_launches --launches 5000 --kernels 3 >"$scratch/out" 2>"$scratch/err"
same "profiles: status" $? 0
contains "profiles: all matched" "$scratch/err" "100.00 % matched"
compare_with_truth "$root/job/profile" "$root/job/truth" "from the tarball"
inside "/opt/$name/bin/flamegrid" report /job/profile --format table >"$scratch/table"
same "reports there: status" $? 0
inside ONE=1 "/opt/$name/bin/flamegrid" run -q -o /job/p2 --devices /job/devices -- /job/env |
	sed '/^CUDA_INJECTION64_PATH=/d; /^FLAMEGRID_SOCKET=/d; /^FLAMEGRID_STACKS=/d; /^FLAMEGRID_GRAPHS=/d; /^FLAMEGRID_RECORD=/d; /^NCCL_PROFILER_PLUGIN=/d' >"$scratch/env"
same "the job's environment" "$(cat "$scratch/env")" ONE=1
inside "/opt/$name/bin/flamegrid" run -q -o /job/p3 --devices /job/devices -- /job/bash -c 'exit 7'
same "the job's status" $? 7

# A site's daemons: each starts itself again, or by another program's name.
flamegrid_there=/opt/$name/bin/flamegrid
start aggregator chroot "$root" /job/env -i "$flamegrid_there" aggregate --listen ipc:///job/aggregator --store /job/site.db --metrics 0
daemon=$started
start agent chroot "$root" /job/env -i "$flamegrid_there" agent --connect ipc:///job/aggregator --socket /job/agent --devices /job/devices --metrics 0
agent=$started
for name_of in aggregator agent; do contains "the $name_of serves metrics by the tarball's library" "$scratch/$name_of.log" "metrics are at http://127.0.0.1:"; done
inside LD_LIBRARY_PATH=/job FAKE_CUDA_DEVICES=2 FAKE_CUDA_TRUTH=/job/site.truth "$flamegrid_there" run --agent /job/agent -- \
	/job/fake_launches --launches 5000 --kernels 3 >"$scratch/out" 2>"$scratch/err" &
end_all $!
compare_with_truth "$root/job/site.db" "$root/job/site.truth" "by daemons from the tarball"
inside "/opt/$name/bin/flamegrid-agent" --version >/dev/null
same "the agent starts" $? 0
inside "/opt/$name/bin/flamegrid-aggregator" --version >/dev/null
same "the aggregator starts" $? 0
