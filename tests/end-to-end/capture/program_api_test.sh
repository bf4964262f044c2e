#!/usr/bin/env bash
# Programs that mark what they do, by flamegrid.h and by the Python package: as NVTX ranges, as steps, and as windows, to the launch.
. "$(dirname "$0")/../support/harness.sh"
source=$(cd "$(dirname "$0")/../../.." && pwd)
list=$(devices 1)
program=$BUILD/tests/api_program
export FAKE_CUDA_DEVICES=1
mkfifo "$scratch/nothing"
pid=
at_end() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
# run NAME PROGRAM-ARGUMENTS OPTION...: profiles the program; leaves folded counts, sorted.
run() {
	local name=$1 arguments=$2
	shift 2
	"$flamegrid" run "$@" --stacks none -o "$scratch/$name" --devices "$list" -- "$program" $arguments >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" --strict --weight count --format folded 2>/dev/null | LC_ALL=C sort >"$scratch/$name.folded"
	same "$name: nothing lost (--strict)" "${PIPESTATUS[0]}" 0
}
# line PATH KERNEL [COUNT]: a folded line, without stacks.
line() { printf '%scuLaunchKernel;[GPU0_Kernel]%s %d\n' "${1:+$1;}" "$2" "${3:-1}"; }
expect() { LC_ALL=C sort >"$scratch/want"; same_lines "$1" "$scratch/$2.folded" "$scratch/want"; }

# Without a guest, and with one that has no agent, the program runs as it is.
check "without a guest" "$program" ranges
check "with a guest, without an agent" env CUDA_INJECTION64_PATH="$BUILD/lib/libflamegrid_inject.so" "$program" ranges

run ranges ranges --nvtx
{
	line '[NVTX]before CUDA' in_before_cuda
	line '[NVTX]before CUDA;[NVTX]inner' in_inner
	line '' in_nothing 2
	line '[NVTX]step' in_step
	line '[NVTX]step;[NVTX]forward' in_step_forward
	line '[NVTX]forward;[NVTX]step' in_forward_step
	line '[NVTX]step' in_step_again
	line '[NVTX]step' in_ending_thread
	line '' on_prefetch
} | expect "ranges: each launch under its ranges and steps" ranges
same "ranges: a stream's name" "$("$flamegrid" report "$scratch/ranges" --by stream -f folded 2>/dev/null | grep -c '^stream[0-9]* "prefetch";.*on_prefetch ')" 1

run threads "threads 4" --nvtx
for i in 0 1 2 3; do line "[NVTX]thread $i" inside 200; done | expect "threads: each its own ranges" threads

run unasked ranges
same "unasked: no ranges without --nvtx" "$(grep in_inner "$scratch/unasked.folded")" "$(line '' in_inner)"

run steps "training 23" --step-range step --every-steps 5
for i in 5 10 15 20; do line '' in_step_$i; done | expect "steps: every fifth, from before CUDA started" steps
contains "steps: windows" "$scratch/steps.err" "in 4 windows, not the run"

# Steps are counted to the one, also without --nvtx; of windows only those that they had.
run trained "training 23"
run longer "training 46"
counted() {
	"$flamegrid" diff "$scratch/$1" "$scratch/$2" --by kernel -f json |
		python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["unit"], *(d[s][n] for s in ("before", "after") for n in ("units", "ranks")))'
}
same "counted: marked steps" "$(counted trained longer)" "step 23 1 46 1"
same "counted: marked steps of windows" "$(counted steps longer)" "step 4 1 46 1"
same "counted: no step" "$(counted unasked threads)" "run None 0 None 0"
same "counted: a report says how many" "$("$flamegrid" report "$scratch/trained" -f table | grep -c '^23 steps marked, .* each on average$')" 1
"$flamegrid" check --baseline "$scratch/trained" "$scratch/longer" >"$scratch/check" 2>&1
contains "check: steps are the marked ones" "$scratch/check" "Times are those of one step of a rank, as the program marks its steps."
# Merged runs: a step takes its part of the time of both.
"$flamegrid" merge "$scratch/trained" "$scratch/longer" -o "$scratch/merged" 2>/dev/null
same "merged: steps of each run" "$("$flamegrid" report "$scratch/merged" -f table | grep -c '^23 to 46 steps marked by a process, .* each on average$')" 1
for name in trained longer merged; do "$flamegrid" report "$scratch/$name" -f json >"$scratch/$name.json"; done
"$flamegrid" diff "$scratch/trained" "$scratch/merged" --by kernel -f json >"$scratch/merged.diff"
check "merged: the time of a step" python3 - "$scratch" <<-'END'
	import json, sys
	of = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
	one, two, both = (of(name + ".json")["marked_steps"]["mean_ns"] for name in ("trained", "longer", "merged"))
	wanted = (23 * one + 46 * two) / 69
	diff = of("merged.diff")["step"]["after_ns"]
	least = of("merged.json")["marked_steps"]["least"]
	print(one, two, both, wanted, diff, least)
	sys.exit(least != 23 or abs(both - wanted) > 2 or abs(diff - wanted) > 2)
END
"$flamegrid" report "$scratch/trained" -f json | grep -q flamegrid_step
same "counted: a step is no call of CUDA" $? 1

run forward ranges --nvtx --capture-range nvtx:forward
{
	line '[NVTX]step;[NVTX]forward' in_step_forward
	line '[NVTX]forward;[NVTX]step' in_forward_step
} | expect "forward: a range opens a window" forward

run windows "windows 6" --capture-range profiler
for i in 1 2 3 4 5 6; do line '' in_window_$i; done | expect "windows: from each start to its stop" windows
contains "windows: as many" "$scratch/windows.err" "in 6 windows, not the run"
run third "windows 7" --every-steps 3
for i in 3 6; do line '' in_window_$i; done | expect "third: one start of three" third
run early "early 5" --capture-range profiler
line '' inside 5 | expect "early: a start before CUDA" early

run fork fork --nvtx --capture-range profiler
contains "fork: the child ended" "$scratch/fork.out" "child 0"
{
	line '[NVTX]parent' before_fork
	line '[NVTX]parent' after_fork
} | expect "fork: the child changed nothing" fork

# A guest to which somebody attaches in the middle of a run.
"$flamegrid" run --dormant -- "$program" until "$scratch/over" >"$scratch/late.out" 2>&1 &
pid=$!
until grep -q libflamegrid_inject "/proc/$pid/maps" 2>/dev/null; do read -r -t 0.05 _ <>"$scratch/nothing"; done
"$flamegrid" attach --pid "$pid" --record nvtx --stacks none --duration 300ms --devices "$list" -o "$scratch/late" >"$scratch/late.err" 2>&1
same "late: attach" $? 0
touch "$scratch/over"
wait "$pid"
same "late: the program's status" $? 0
pid=
"$flamegrid" report "$scratch/late" --strict --weight count --format folded 2>/dev/null | sed 's/ [0-9]*$//' | LC_ALL=C sort >"$scratch/late.folded"
{
	line '[NVTX]round' in_round
	line '' between
} | sed 's/ [0-9]*$//' | expect "late: ranges that were opened since" late

# ---- the installed tree, moved to another place

cmake --install "$BUILD" --component api --prefix "$scratch/first" >"$scratch/install" 2>&1
same "install: status" $? 0
mv "$scratch/first" "$scratch/tree"
same "install: files" "$(cd "$scratch/tree" && find . -type f | LC_ALL=C sort | paste -sd' ')" \
	"$(paste -sd' ' <<-'FILES'
		./include/flamegrid.h
		./lib/cmake/flamegrid/flamegrid-config-version.cmake
		./lib/cmake/flamegrid/flamegrid-config.cmake
		./lib/pkgconfig/flamegrid.pc
		./share/flamegrid/python/README.md
		./share/flamegrid/python/flamegrid/__init__.py
		./share/flamegrid/python/flamegrid/_guest.py
		./share/flamegrid/python/flamegrid/_profile.py
		./share/flamegrid/python/flamegrid/py.typed
		./share/flamegrid/python/flamegrid/views.sql
		./share/flamegrid/python/pyproject.toml
	FILES
	)"
cat >"$scratch/user.c" <<'C'
#include <flamegrid.h>
int main(void)
{
	flamegrid_start();
	flamegrid_step();
	flamegrid_range_push("range");
	flamegrid_range_pop();
	flamegrid_step_end();
	flamegrid_name_stream(NULL, "stream");
	flamegrid_stop();
	return 0;
}
C
cat >"$scratch/user.cc" <<'C'
#include <flamegrid.h>
int other();
int other()
{
	flamegrid::range inner("inner");
	return 0;
}
int main()
{
	flamegrid::range whole("whole");
	flamegrid_step();
	return other();
}
C
strict=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wcast-qual -Werror)
# builds NAME COMPILER...: without a warning, and what it builds runs with a guest and without one.
builds() {
	local name=$1
	shift
	"$@" "${strict[@]}" $(PKG_CONFIG_PATH=$scratch/tree/lib/pkgconfig pkg-config --cflags --libs flamegrid) -o "$scratch/user" >"$scratch/$name.err" 2>&1
	same "$name: builds" "$? $(wc -c <"$scratch/$name.err")" "0 0"
	check "$name: runs" "$scratch/user"
	check "$name: runs with a guest" env CUDA_INJECTION64_PATH="$BUILD/lib/libflamegrid_inject.so" "$scratch/user"
}
builds C99 cc -std=c99 "$scratch/user.c"
builds static cc -std=c11 -O2 -static "$scratch/user.c"
if command -v c++ >/dev/null; then
	builds C++11 c++ -std=c++11 "$scratch/user.cc"
	builds C++20 c++ -std=c++20 -O2 "$scratch/user.cc"
fi
mkdir "$scratch/project"
mv "$scratch/user.c" "$scratch/project/"
cat >"$scratch/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(flamegrid 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE flamegrid::flamegrid)
CMAKE
{ cmake -S "$scratch/project" -B "$scratch/project/build" -DCMAKE_PREFIX_PATH="$scratch/tree" && cmake --build "$scratch/project/build"; } >"$scratch/project.out" 2>&1
same "CMake: find_package and build" $? 0
check "CMake: runs" "$scratch/project/build/user"

# ---- Python, from the installed tree

export PYTHONPATH=$scratch/tree/share/flamegrid/python PYTHONDONTWRITEBYTECODE=1
launches=$source/tests/api/api_launches.py
cuda_of_tests=(env FLAMEGRID_CUPTI="$BUILD/lib/fake-cuda/libcupti.so.13")
same "Python: without a guest" "$(python3 "$launches" 5)" "done"
"${cuda_of_tests[@]}" "$flamegrid" run --nvtx --capture-range profiler --stacks none -o "$scratch/marked" --devices "$list" -- python3 "$launches" 5 \
	>"$scratch/marked.out" 2>"$scratch/marked.err"
same "Python: with a guest: status" $? 0
"$flamegrid" report "$scratch/marked" --strict --weight count --format folded 2>/dev/null | LC_ALL=C sort >"$scratch/marked.folded"
{
	line '[NVTX]step' in_step 5
	line '[NVTX]step;[NVTX]forward' in_forward 5
	line '[NVTX]step;[NVTX]decorated' in_decorated
	line '' in_nothing
	for i in 0 1 2 3; do line "[NVTX]thread $i" in_thread; done
} | expect "Python: each launch under its ranges and steps" marked

"${cuda_of_tests[@]}" "$flamegrid" run --stacks leaf -o "$scratch/python" --devices "$list" -- python3 "$launches" 5 >/dev/null 2>"$scratch/err"
same "read: a profile of Python" $? 0
"$flamegrid" run --devices "$(devices 2)" -o "$scratch/ranks" -- env FAKE_CUDA_DEVICES=2 LD_LIBRARY_PATH="$BUILD/lib/fake-nccl:$LD_LIBRARY_PATH" \
	"$BUILD/tests/fake_ranks" --ranks 2 --steps 4 >/dev/null 2>"$scratch/err"
same "read: a profile of ranks" $? 0
mkdir "$scratch/copies"
check "read: by Python" python3 "$source/tests/api/read_profile.py" "$flamegrid" "$scratch/python" "$scratch/ranks" "$scratch/copies"
