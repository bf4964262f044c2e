#!/usr/bin/env bash
# `flamegrid doctor`: names what was broken on purpose, with what to do, and nothing else.
. "$(dirname "$0")/../support/harness.sh"
export TMPDIR=$scratch XDG_RUNTIME_DIR=$scratch
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH FLAMEGRID_CUPTI DEBUGINFOD_URLS

# doctor NAME COMMAND...: its findings in $scratch/NAME.out, its status in $status.
doctor() {
	local name=$1
	shift
	"$@" doctor >"$scratch/$name.out" 2>"$scratch/$name.err"
	status=$?
	same "$name: nothing on stderr" "$(wc -c <"$scratch/$name.err")" 0
}
# The subjects of a verdict, in order.
subjects() { sed -n "s/^$2  *\([^:]*\): .*/\1/p" "$scratch/$1.out" | paste -sd, -; }
# planted NAME SUBJECT TEXT REMEDY: a problem of this subject alone, and a line that says what to do.
planted() {
	same "$1: status" "$status" 1
	same "$1: problems" "$(subjects "$1" PROBLEM)" "$2"
	contains "$1: what it is" "$scratch/$1.out" "$3"
	contains "$1: what to do" "$scratch/$1.out" "$4"
}

doctor sound "$flamegrid"
same "sound: status" $status 0
contains "sound: what an agent keeps" "$scratch/sound.out" "ok       rights: once it is set up an agent keeps "
same "sound: no problem" "$(subjects sound PROBLEM)" ""
same "sound: every note and problem but those of fact has a remedy" \
	"$(grep -c '^note     \(CUPTI\|BPF\|open files\)' "$scratch/sound.out")" \
	"$(grep -A1 '^note     \(CUPTI\|BPF\|open files\)' "$scratch/sound.out" | grep -c '^  do ')"
same "sound: nothing is left behind" "$(find "$scratch" -mindepth 1 -name 'flamegrid-*' | wc -l)" 0
"$flamegrid" doctor --json >"$scratch/sound.json"
same "sound: JSON" "$(python3 -c 'import json, sys
document = json.load(open(sys.argv[1]))
print(len(document["findings"]), document["verdict"] in ("ok", "note"), all(f["verdict"] in ("ok", "note") for f in document["findings"]))' \
	"$scratch/sound.json")" "$(grep -c -v '^  do ' "$scratch/sound.out") True True"

FAKE_NVML= LD_LIBRARY_PATH=$BUILD/lib/fake-nvml:$LD_LIBRARY_PATH doctor nvml "$flamegrid"
contains "nvml: answers" "$scratch/nvml.out" "ok       NVML: answers: clocks, what holds them down, power and energy"
for refusal in 3:"the GPU or its driver does not tell all" 4:"NVML does not permit it" 15:"NVML failed"; do
	FAKE_NVML="*:result=${refusal%%:*}" LD_LIBRARY_PATH=$BUILD/lib/fake-nvml:$LD_LIBRARY_PATH doctor refusal "$flamegrid"
	same "nvml refuses: status" $status 0
	contains "nvml refuses: a note" "$scratch/refusal.out" "note     NVML: ${refusal#*:}: clocks, power or energy of GPUs are not recorded"
done
FAKE_NVML="*:hang=1" LD_LIBRARY_PATH=$BUILD/lib/fake-nvml:$LD_LIBRARY_PATH doctor hang "$flamegrid"
same "nvml hangs: status" $status 0
contains "nvml hangs: a note" "$scratch/hang.out" "note     NVML: NVML hangs: "
contains "nvml hangs: what to do" "$scratch/hang.out" "  do     look what nvidia-smi says, and for Xid"

FLAMEGRID_CUPTI=/nowhere/libcupti.so doctor cupti "$flamegrid"
planted cupti CUPTI "FLAMEGRID_CUPTI=/nowhere/libcupti.so: no such file" "unset FLAMEGRID_CUPTI"
# A file that is no library is left out by a run, and so by doctor.
mkdir -p "$scratch/home/lib64"
echo damaged >"$scratch/home/lib64/libcupti.so.13"
CUDA_HOME=$scratch/home doctor damaged "$flamegrid"
CUDA_HOME=$scratch/home "$flamegrid" run -q -o "$scratch/run" -- "$fake_launches" >"$scratch/run.out" 2>&1
"$flamegrid" report -f json "$scratch/run" -o "$scratch/run.json"
same "the CUPTI is that of a run" "$(sed -n 's/^ok *CUPTI: \([^,]*\).*/\1/p' "$scratch/damaged.out")" \
	"$(grep -o "$BUILD[^\" ]*libcupti[^\" ;,)]*" "$scratch/run.json" | head -n 1)"
FLAMEGRID_CUPTI=$scratch/home/lib64/libcupti.so.13 doctor refused "$flamegrid"
planted refused CUPTI "cannot be loaded as CUPTI" "unset FLAMEGRID_CUPTI"
CUDA_INJECTION64_PATH=/opt/other/libother.so doctor injection "$flamegrid"
planted injection environment "/opt/other/libother.so: another tool" "unset CUDA_INJECTION64_PATH"
NVTX_INJECTION64_PATH=/opt/other/libnvtx.so doctor nvtx "$flamegrid"
same "nvtx: status" $status 0
contains "nvtx: a note" "$scratch/nvtx.out" "note     environment: NVTX_INJECTION64_PATH=/opt/other/libnvtx.so"
LD_LIBRARY_PATH='' doctor driver "$flamegrid"
if [ -e /usr/lib/x86_64-linux-gnu/libcuda.so.1 ] || [ -e /usr/lib64/libcuda.so.1 ]; then same "driver: status" $status 0; else
	planted driver driver "no libcuda.so.1" "install NVIDIA's driver"; fi
mkdir -p "$scratch/half/bin"
cp "$flamegrid" "$scratch/half/bin/flamegrid"
doctor half "$scratch/half/bin/flamegrid"
planted half guest "is not there: lib/libflamegrid_inject.so" "bin/ and lib/ belong together"
printf 'record=bogus\n' >"$scratch/value.conf"
FLAMEGRID_CONFIG=$scratch/value.conf doctor value "$flamegrid"
planted value configuration "value.conf: line 1: --record bogus" "mend the file"
doctor address bash -c 'ulimit -v 55000; exec "$0" "$@"' "$flamegrid"
planted address "memory of jobs" "the limit on address space is 55000 KiB (ulimit -v)" "ulimit -v unlimited"
doctor size bash -c 'ulimit -f 2000; exec "$0" "$@"' "$flamegrid"
planted size "memory of jobs" "the limit on file sizes is 2000 KiB (ulimit -f)" "ulimit -f unlimited"
doctor files bash -c 'ulimit -n 64; exec "$0" "$@"' "$flamegrid"
same "files: status" $status 0
contains "files: a note" "$scratch/files.out" "note     open files: 64 at most"
contains "files: what to do" "$scratch/files.out" "ulimit -n 1024"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch"
	doctor rights setpriv --bounding-set=-all --inh-caps=-all --reuid 65534 --regid 65534 --clear-groups \
		env TMPDIR=/tmp XDG_RUNTIME_DIR=/tmp "$flamegrid"
	same "rights: status" $status 0
	contains "rights: what is missing" "$scratch/rights.out" "note     BPF: CAP_BPF is missing"
	contains "rights: what an agent keeps" "$scratch/rights.out" "agent keeps no capabilities"
	contains "rights: what to do" "$scratch/rights.out" "only --cpu-hz and --off-cpu need it"
	# A build below /tmp stays where it is.
	doctor sockets unshare -m bash -c '
		mount -t tmpfs none /mnt || exit 1
		case $BUILD in
		/tmp/*) mkdir -p "/mnt/${BUILD#/tmp/}" && mount --bind "$BUILD" "/mnt/${BUILD#/tmp/}" || exit 1 ;;
		esac
		mount -o remount,ro /mnt && mount --move /mnt /tmp && XDG_RUNTIME_DIR=/tmp TMPDIR=/tmp exec "$0" "$@"' "$flamegrid"
	planted sockets sockets "Read-only file system" "set TMPDIR"
fi
"$flamegrid" doctor --nonsense >/dev/null 2>&1
same "bad option: status" $? 2
"$flamegrid" doctor what >/dev/null 2>&1
same "bad argument: status" $? 2
