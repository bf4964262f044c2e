#!/usr/bin/env bash
# One binary with every CUPTI: versions whose records, buffers and functions differ, none at all, one that does not fit the
# driver, several, one that the application opened for itself, one that somebody else holds.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
versions=$BUILD/lib/fake-cupti
export FAKE_CUDA_DEVICES=2

library() { # the file of a version
	local file
	for file in "$versions/$1"/libcupti.so.1?; do printf '%s\n' "$file"; done
}
notices() { "$flamegrid" report "$scratch/profile" --format json 2>/dev/null | sed -n '/^"notices"/,/\]/p'; }
# An empty run would leave the profile before it.
profile() { rm -rf "$scratch/profile"; "$flamegrid" run -q -o "$scratch/profile" --devices "$list" -- "$@" >"$scratch/out" 2>"$scratch/err"; }

count=0
for folder in "$versions"/*; do
	version=${folder##*/}
	count=$((count + 1))
	"$BUILD/tests/cuda_conformance" "$(library "$version")" "$BUILD/lib/fake-cuda/libcudart.so.13" >"$scratch/conformance" 2>&1
	same "CUPTI $version: conformance" $? 0
	FLAMEGRID_CUPTI=$(library "$version") FAKE_CUDA_TRUTH=$scratch/truth profile "$fake_launches" --devices 2 --streams 2 \
		--threads 2 --launches 3000 --kernels 3 --copies 20
	same "CUPTI $version: status" $? 0
	compare_with_truth "$scratch/profile" "$scratch/truth" "CUPTI $version" 2>/dev/null
	notices >"$scratch/notices"
	contains "CUPTI $version: is the one in use" "$scratch/notices" "CUPTI $version: $(library "$version")"
	FLAMEGRID_CUPTI=$(library "$version") FAKE_CUDA_TRUTH=$scratch/truth "$flamegrid" run -q -o "$scratch/profile" \
		--graphs launch --devices "$list" -- "$BUILD/tests/fake_graphs" >"$scratch/out" 2>"$scratch/err"
	same "CUPTI $version, graphs as launches: status" $? 0
	same "CUPTI $version, graphs as launches: folded" \
		"$("$flamegrid" report "$scratch/profile" --format folded --weight count 2>/dev/null | awk '{ sum += $NF } END { printf "%.0f\n", sum }')" \
		"$(truth_sum valid_count "$scratch/truth")"
done
check "$count versions" [ $count -ge 11 ]

FLAMEGRID_CUPTI=$scratch/none/libcupti.so.13 profile "$fake_launches" --launches 100
same "no CUPTI: status" $? 0
notices >"$scratch/notices"
contains "no CUPTI: said" "$scratch/notices" "looked at: $scratch/none/libcupti.so.13"

# Too new for the driver, then too old: the next one is taken, whichever the loader has under that name.
LD_LIBRARY_PATH=$versions/130300:$versions/28:$LD_LIBRARY_PATH FAKE_CUPTI_NEWEST=129999 \
	profile "$BUILD/tests/process_life_driver"
same "too new: status" $? 0
notices >"$scratch/notices"
contains "too new: the next one is used" "$scratch/notices" "CUPTI 28: $(library 28)"
LD_LIBRARY_PATH=$versions/19:$versions/130100:$LD_LIBRARY_PATH FAKE_CUPTI_OLDEST=130000 \
	profile "$BUILD/tests/process_life_driver"
same "too old: status" $? 0
notices >"$scratch/notices"
contains "too old: the next one is used" "$scratch/notices" "CUPTI 130100: $(library 130100)"
CUDA_HOME=$scratch/none FAKE_CUPTI_OLDEST=999999 profile "$BUILD/tests/process_life_driver"
same "none fits: status" $? 0
notices >"$scratch/notices"
contains "none fits: said" "$scratch/notices" "cannot be used with this driver"

# What the application has mapped comes first, also if it keeps it to itself.
LIFE_OPEN=$(library 27) profile "$BUILD/tests/process_life_driver"
same "opened for itself alone: status" $? 0
notices >"$scratch/notices"
contains "opened for itself alone: it is used" "$scratch/notices" "CUPTI 27: $(library 27)"
LIFE_OPEN=$(library 130300):$(library 26) FAKE_CUPTI_NEWEST=129999 profile "$BUILD/tests/process_life_driver"
same "two are mapped: status" $? 0
notices >"$scratch/notices"
contains "two are mapped: the one that fits" "$scratch/notices" "CUPTI 26: $(library 26)"

FAKE_CUPTI_TAKEN=1 profile "$BUILD/tests/process_life_driver"
same "held by another: status" $? 0
notices >"$scratch/notices"
contains "held by another: its name" "$scratch/notices" "another profiler holds CUPTI in this process: Nsight Systems ("
FAKE_CUPTI_TAKEN=1 FLAMEGRID_CUPTI=$(library 28) profile "$BUILD/tests/process_life_driver"
notices >"$scratch/notices"
contains "held by another, CUPTI 12.9: no name to be had" "$scratch/notices" "another profiler holds CUPTI in this process ("
