# What the scripts of this folder share; sourced. BUILD is the build folder (from ctest). Every check counts, the script
# ends with its sum and exits 1 if one failed.
set -u
# The last command of a pipeline runs in this shell, so that checks count there, too. Job control would undo that.
shopt -s lastpipe
: "${BUILD:?BUILD names the build folder}"
flamegrid=$BUILD/bin/flamegrid
fake_launches=$BUILD/tests/fake_launches
scratch=$(mktemp -d "${TMPDIR:-/tmp}/flamegrid-test.XXXXXX")
export LD_LIBRARY_PATH=$BUILD/lib/fake-cuda FLAMEGRID_CLASSES=
unset CUDA_INJECTION64_PATH FLAMEGRID_SOCKET CUDA_VISIBLE_DEVICES
passed=0
failed=0

ok() { passed=$((passed + 1)); printf 'ok - %s\n' "$*"; }
# A subshell's counts are lost, but its file is not.
not_ok() { failed=$((failed + 1)); : >"$scratch/.failed"; printf 'not ok - %s\n' "$*"; }
check() { local what=$1; shift; if "$@"; then ok "$what"; else not_ok "$what: $*"; fi; }
same() { if [ "$2" = "$3" ]; then ok "$1: $2"; else not_ok "$1: '$2', expected '$3'"; fi; }
# page_data PAGE: the profile that a page holds, packed.
page_data() {
	python3 -c 'import base64, re, sys, zlib
page = re.search(r"id=\"profile\">(.*?)</script>", open(sys.argv[1]).read(), re.S)
sys.stdout.buffer.write(zlib.decompress(base64.b64decode(page[1])))' "$1"
}
contains() { if grep -qF -- "$3" "$2"; then ok "$1"; else not_ok "$1: no '$3' in $2:"; head -n 5 "$2"; fi; }

# nap: between two looks at what is awaited. Else the looks would take the processors from what brings it.
mkfifo "$scratch/.never"
nap() { read -rt 0.05 <>"$scratch/.never" || :; }

at_end() { :; } # a script may define its own clean-up
finish() {
	local status=$? # not 0: the script did not come to its end
	at_end
	[ ! -e "$scratch/.failed" ] || [ $failed -gt 0 ] || failed=1
	if [ $failed -eq 0 ] && [ $status -eq 0 ]; then rm -rf "$scratch"; else printf 'kept: %s\n' "$scratch"; fi
	printf '%d passed, %d failed\n' $passed $failed
	[ $failed -eq 0 ] && [ $passed -gt 0 ] && [ $status -eq 0 ]
	exit $? # without a number it would be the status from before the trap
}
trap finish EXIT

# rounds USUAL NIGHTLY: how often to do what fails rarely.
rounds() { if [ -n "${FLAMEGRID_NIGHTLY:-}" ]; then echo "$2"; else echo "$1"; fi; }

# own_build: BUILD gets libraries of this script's own. A probe of a return changes the stacks of all processes that map the
# file, and other tests look at their stacks.
own_build() {
	local own=$scratch/build
	mkdir -p "$own/lib"
	cp -a "$BUILD/bin" "$own/"
	cp -a "$BUILD"/lib/fake-cuda "$BUILD"/lib/fake-nccl "$BUILD"/lib/libflamegrid_inject.so "$own/lib/"
	ln -s "$BUILD/tests" "$own/tests"
	BUILD=$own flamegrid=$own/bin/flamegrid fake_launches=$own/tests/fake_launches
	export LD_LIBRARY_PATH=$own/lib/fake-nccl:$own/lib/fake-cuda
}

# files_of PROFILE ERR...: its files, on one line, but for parts that a message in these files names. A node on a busy machine
# that has no answer in two seconds leaves one, and it may come when the profile is whole.
files_of() {
	local profile=$1 file
	shift
	for file in "$profile"/*; do
		grep -qsF "it is $file now" "$@" || printf '%s\n' "${file##*/}"
	done | paste -sd' '
}

# The processes that keep this test's steps; it has given them an XDG_RUNTIME_DIR of its own. await_keepers waits for their ends.
own_keepers() {
	local pid

	for pid in $(pgrep -x 'flamegrid-(keep|job|node)'); do
		grep -qszFx "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" "/proc/$pid/environ" && echo "$pid"
	done
}
await_keepers() {
	local pid

	for pid in $(own_keepers); do timeout 60 tail --pid="$pid" -f /dev/null; done
}

# says WHAT ERR TEXT: a rank said this. On a busy machine it may end before that is so, and says that.
says() {
	if grep -qE "still being written|goes on alone|may still write" "$2"; then ok "$1, later"; else contains "$1" "$2" "$3"; fi
}
# says_well WHAT ERR PROFILE: rank 0 of a step said that nothing is lost.
says_well() { says "$1" "$2" "nothing lost; $3/"; }
# went_well WHAT ERR PROFILE: the same, and so it is.
went_well() {
	await_keepers
	says_well "$@"
	check "$1: nothing lost" "$flamegrid" report "$3" --strict -o /dev/null
}

# take_ports: ten TCP ports that no other test has, from $ports on. Daemons that outlive a killed test keep its lock.
take_ports() {
	local number lock

	for number in $(seq $(($$ % 1000)) 1999); do
		exec {lock}<>"/tmp/flamegrid-test-ports.$number" || continue
		flock -n "$lock" && ports=$((12000 + number * 10)) && return
		exec {lock}<&-
	done
	return 1
} 2>/dev/null

# devices N: a device list of N simulated GPUs; prints its path.
devices() {
	FAKE_CUDA_DEVICES=$1 "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$1" && printf '%s\n' "$scratch/devices.$1"
}
# node_devices COUNT NODE...: the devices of each node, COUNT each, are in $scratch/devices.NODE; a rank there has the host seed NODE + 1.
node_devices() {
	local count=$1 node
	shift
	for node in "$@"; do
		FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=$count "$BUILD/bin/fake-cuda-devices" >"$scratch/devices.$node"
	done
}

# by_stream PROFILE WEIGHT-OPTIONS...: "gpu stream leaf sum" lines, sorted, for a comparison with the truth.
by_stream() {
	local profile=$1
	shift
	"$flamegrid" report "$profile" --format folded --by gpu,stream --demangle none "$@" | awk '
		{
			weight = $NF; line = $0; sub(/ [0-9]+$/, "", line)
			nr = split(line, frame, ";")
			gpu = frame[1]; sub(/^GPU/, "", gpu); stream = frame[2]; sub(/^stream/, "", stream); sub(/ .*/, "", stream)
			sum[gpu " " stream " " frame[nr]] += weight
		}
		END { for (key in sum) if (sum[key]) printf "%s %.0f\n", key, sum[key] }' | LC_ALL=C sort
}

# truth_by_stream COLUMN FILE...: the same of the truth, from one of its columns. GPU work alone, as all here.
truth_by_stream() {
	local column=$1
	shift
	awk -F'\t' -v column="$column" '
		FNR == 1 { sub(/^# */, "", $1); for (i = 1; i <= NF; i++) at[$i] = i; next }
		/^#/ || $at["kind"] !~ /^(kernel|memcpy|memset|graph)$/ { next }
		{
			gpu = $at["device_index"]; kind = $at["kind"]; name = $at["name"]
			if (kind == "kernel") leaf = "[GPU" gpu "_Kernel]" name
			else if (kind == "memcpy") leaf = "[GPU" gpu "_Memcpy]" name
			else leaf = "[GPU" gpu "_Memset]"
			sum[gpu " " $at["stream_id"] " " leaf] += $at[column]
		}
		END { for (key in sum) if (sum[key]) printf "%s %.0f\n", key, sum[key] }' "$@" | LC_ALL=C sort
}

# truth_sum COLUMN FILE...
truth_sum() {
	local column=$1
	shift
	awk -F'\t' -v column="$column" '
		FNR == 1 { sub(/^# */, "", $1); for (i = 1; i <= NF; i++) at[$i] = i; next }
		/^#/ || $at["kind"] !~ /^(kernel|memcpy|memset|graph)$/ { next }
		{ sum += $at[column] } END { printf "%.0f\n", sum }' "$@"
}

# sum_folded [FILE...]: the sum of the weights of folded lines.
sum_folded() { awk '{ s += $NF } END { printf "%.0f\n", s }' "$@"; }

# printed COMMAND... -- REPORT-OPTION...: what the command makes of that report. If there is no report it is a text that
# equals no number, and differs each time.
printed() {
	local command=() text=$scratch/.report.$BASHPID
	while [ "$1" != -- ]; do command+=("$1"); shift; done
	shift
	if "$flamegrid" report "$@" >"$text" 2>/dev/null; then
		"${command[@]}" <"$text"
	else
		printf 'report %s failed in %s\n' "$*" "$BASHPID"
	fi
	rm -f "$text"
}

# total_ns PROFILE [REPORT-OPTION...], rank_ns PROFILE RANK: the ns of all, or of one rank's, GPU work.
total_ns() { printed sum_folded -- "$@" --unit ns; }
rank_ns() { printed sum_of_rank "$2" -- "$1" --by rank --unit ns; }
sum_of_rank() { grep "^rank$1;" | sum_folded; }

# groups PROFILE host|rank: those that it has, in one line.
groups() { printed list_groups -- "$1" --by "$2"; }
list_groups() { cut -d';' -f1 | LC_ALL=C sort -u | paste -sd' '; }

# valid_report PROFILE OPTION...: its JSON is as docs/report.schema.json says. Debian's Python has the library for that.
valid_report() {
	local here=${BASH_SOURCE[0]%/*}
	"$flamegrid" report "$@" --format json >"$scratch/valid.json" 2>/dev/null
	check "JSON as its schema says: ${*##*/}" env PATH="/usr/bin:$PATH" python3 "$here/valid_report.py" \
		"$here/../../../docs/report.schema.json" "$scratch/valid.json"
}

# ledger PROFILE REASON: the count of one line of the ledger, 0 if it is not there.
ledger() { printed sum_of_reason "$2" -- "$1" --format json; }
sum_of_reason() {
	tr -d ' \n' | grep -o "\"reason\":\"$1\",\"count\":[0-9]*" | awk -F: '{ sum += $NF } END { printf "%.0f\n", sum }'
}

# sql STEP-DIR QUERY: the rows that the query finds in the step's profile, with tabs between the columns.
sql() { python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*[f.decode() if isinstance(f, bytes) else f for f in row], sep="\t")' "$1/profile.db" "$2"; }

same_lines() {
	if [ -s "$2" ] && cmp -s "$2" "$3"; then ok "$1 ($(wc -l <"$2") lines)"; else not_ok "$1"; diff "$2" "$3" | head -n 10; fi
}

# compare_with_truth PROFILE-DIR TRUTH WHAT: the profile equals the truth, to the nanosecond.
compare_with_truth() {
	by_stream "$1" --unit ns >"$scratch/have.ns"
	truth_by_stream valid_ns "$2" >"$scratch/want.ns"
	same_lines "$3: time by GPU, stream and name, in ns" "$scratch/have.ns" "$scratch/want.ns"
	by_stream "$1" --weight count >"$scratch/have.count"
	truth_by_stream valid_count "$2" >"$scratch/want.count"
	same_lines "$3: counts by GPU, stream and name" "$scratch/have.count" "$scratch/want.count"
}
