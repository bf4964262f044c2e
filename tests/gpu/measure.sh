#!/usr/bin/env bash
# Everything that needs a real GPU, in one run: conformance of the fake CUDA's assumptions, exact counts on the sample
# programs, and what profiling costs against CUPTI's own floor (cupti_floor.c) and against no profiler, A/B/A/B.
#
# Usage: tests/gpu/measure.sh FLAMEGRID-ROOT OUT-DIR [PART...]
#   FLAMEGRID-ROOT  an unpacked tarball or a build folder (bin/flamegrid, lib/libflamegrid_inject.so)
#   OUT-DIR         reports and logs go there
#   PART            info, or one of all_parts below (default: all of them)
# Needs nvcc for the launch-bound program, and PyTorch for the training ones; says what it left out.
# Exit status: 0 every check held, 1 one did not (its line begins with "NOT OK").
set -u
all_parts="
	conformance demo counts train ddp graph triton pythons agreement capture modes soak overhead cuptishare threads life
	restart windows timeline options api memory nvtx marks kineto inner duty group host probe hostcalls nccl
	ncclplugin ncclsplit ranks nodes folded straggler parallel watch steps green site backward backwardcost
	backwardranks compiled aoti jax serve clocks use gpmdelay pm price priceddp keepcost meter tails stalls exact
	exactlong metrics rangesbeside tables worst energy ncclbeside
"
root=$(readlink -f "$1") || exit 1
out=$2
shift 2
parts=${*:-all}
here=$(dirname "$(readlink -f "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2034 # the parts use it
flamegrid=$root/bin/flamegrid
failed=0
# shellcheck disable=SC2034
gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
mkdir -p "$out"
cupti=$(python3 - 2>/dev/null <<'PY' || true
import glob, sysconfig
base = sysconfig.get_paths()['purelib']
hits = sorted(glob.glob(base + '/nvidia/*/lib/libcupti.so.*'))
print(hits[-1] if hits else '')
PY
)
[ -z "${FLAMEGRID_CUPTI:-}" ] || cupti=$FLAMEGRID_CUPTI

# The files of parts/ may use what is set above; all they set of it is failed.
for file in "$here"/parts/*.sh; do
	# shellcheck source=/dev/null
	. "$file" || exit 1
done
[ -n "$cupti" ] || cupti=$(first_of /usr/local/cuda/extras/CUPTI/lib64/libcupti.so /usr/local/cuda/lib64/libcupti.so)

wants() { [ "$parts" = all ] || case " $parts " in *" $1 "*) true ;; *) false ;; esac; }

info
for part in counts overhead cuptishare threads windows timeline options api memory nvtx kineto duty host probe \
	hostcalls steps nodes folded site price priceddp meter; do
	if wants $part; then
		build_programs
		break
	fi
done
for part in $all_parts; do
	if wants $part; then
		echo "--- $part"
		$part
	fi
done
exit $failed
