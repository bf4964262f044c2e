#!/usr/bin/env bash
# Samples of running kernels (run --record stalls): each that CUPTI gave is in the report under its kernel, line and reason.
# The plane's times are those of the kernels, to the nanosecond, and other planes do not change.
. "$(dirname "$0")/../support/harness.sh"
list=$(devices 2)
lines=$(cd "$(dirname "$0")/../../node-agent/cubin" && pwd)
export FAKE_CUDA_DEVICES=2 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13
export FAKE_CUDA_CUBIN=$(dirname "$0")/kernel_samples.cubin

# profile NAME OPTIONS... -- ARGUMENTS...: of fake_launches.
profile() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	FAKE_CUDA_SAMPLES=$scratch/$name.samples "$flamegrid" run "${options[@]}" -o "$scratch/$name" --devices "$list" -- \
		"$fake_launches" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
	same "$name: status" $? 0
	"$flamegrid" report "$scratch/$name" -f json -o "$scratch/$name.json"
}
folded() { local name=$1; shift; "$flamegrid" report "$scratch/$name" "$@" 2>"$scratch/report.err"; }
counted() {
	python3 -c 'import json, sys
print(sum(row["count"] for row in json.load(open(sys.argv[1]))["ledger"] if row["reason"] == sys.argv[2]))' \
		"$scratch/$1.json" "$2"
}
# What the store says was produced (ledger.h): reports list losses alone.
produced() {
	python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select sum(count) from ledger where reason = 70").fetchone()[0])' "$scratch/$1/profile.db"
}
# The samples as CUPTI gave them, in the report's words: "KERNEL;FRAME;…;REASON COUNT".
expected() {
	PYTHONPATH=$lines python3 - "$FAKE_CUDA_CUBIN" "$scratch/$1.samples" <<'PY'
import collections, os, sys
from line_table import Cubin
table = Cubin(sys.argv[1])
reasons = {"14": "long scoreboard", "28": "selected", "2": "barrier"}
sums = collections.Counter()
for line in open(sys.argv[2]):
    device, kernel, offset, reason, count, depth = line.rstrip("\n").split("\t")
    frames = table.chain(kernel, int(offset)) if any(f.name == kernel for f in table.functions) else []
    text = [os.path.basename(f) + (":%d" % l if n in (None, kernel) else ":%s:%d" % (n, l)) for n, f, l in reversed(frames)]
    sums[";".join([kernel] + (text or ["+0x%x" % int(offset)]) + ["[stall]" + reasons[reason]])] += int(count)
for key in sorted(sums):
    print(key, sums[key])
PY
}
# The same of the report.
shown() {
	folded "$1" --planes stalls --weight count --demangle none | grep -v '\[stall\]not sampled' |
		sed 's/.*\[GPU[0-9]*_Kernel\]//; s/\[stall\]≈/[stall]/' |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); sums[$0] += n } END { for (key in sums) print key, sums[key] }' | LC_ALL=C sort
}

profile plain --record stalls -- --launches 20000 --kernels 2 --devices 1 --sync-every 100
expected plain | LC_ALL=C sort >"$scratch/plain.expected"
shown plain >"$scratch/plain.shown"
check "plain: some kernels were sampled" test -s "$scratch/plain.expected"
check "plain: each sample stands at its line and reason" diff "$scratch/plain.expected" "$scratch/plain.shown"
contains "plain: inlined functions" "$scratch/plain.shown" "k0;kernel_samples.cu:"
valid_report "$scratch/plain" --planes stalls
given=$(awk '{ sum += $5 } END { print sum }' "$scratch/plain.samples")
same "plain: samples in the ledger" "$(produced plain)" "$given"
same "plain: the plane has the kernels' time" "$(folded plain --planes stalls --unit ns | sum_folded)" \
	"$(folded plain --unit ns | grep -F '_Kernel]' | sum_folded)"

FAKE_CUPTI_SAMPLES_OTHER=3 FAKE_CUPTI_SAMPLES_DROPPED=2 profile lossy --record stalls -- --launches 20000 --kernels 4 --threads 2 \
	--streams 2 --devices 2 --sync-every 100
given=$(awk '{ sum += $5 } END { print sum }' "$scratch/lossy.samples")
same "lossy: samples = shown + other + lost" "$(produced lossy)" \
	$((given + $(counted lossy kernel_sample_other) + $(counted lossy kernel_sample_lost)))
check "lossy: other kernels' samples are counted" test "$(counted lossy kernel_sample_other)" -gt 0
same "lossy: three of them for two lost" $((2 * $(counted lossy kernel_sample_other))) $((3 * $(counted lossy kernel_sample_lost)))
expected lossy | LC_ALL=C sort >"$scratch/lossy.expected"
check "lossy: each sample stands at its line and reason" diff "$scratch/lossy.expected" <(shown lossy)
same "lossy: the plane has the kernels' time" "$(folded lossy --planes stalls --unit ns | sum_folded)" \
	"$(folded lossy --unit ns | grep -F '_Kernel]' | sum_folded)"

# A window that opens late: its code was loaded before, and its context made.
profile late --record stalls --delay 300ms --duration 300ms -- --launches 400000 --kernels 2 --devices 1 --sync-every 100
shown late >"$scratch/late.shown"
contains "late: lines of code that was there before" "$scratch/late.shown" "k1;kernel_samples.cu:"
same "late: each sample has its line" "$(grep -c '+0x' "$scratch/late.shown")" 0

# A refusal costs the samples alone.
FAKE_CUPTI_SAMPLES_REFUSED=35 profile refused --record stalls -- --launches 20000 --devices 1
contains "refused: the reason" "$scratch/refused.err" "kernels of CUDA device 0 are not sampled (CUPTI's error 35): it needs CAP_SYS_ADMIN"
contains "refused: the run's end says so again" "$scratch/refused.err" "flamegrid: nothing of stalls is here: kernels of CUDA device 0 are not sampled"
folded refused --planes stalls >/dev/null
contains "refused: the report says why, and not what to record" "$scratch/report.err" \
	"--planes stalls: the profile has nothing of it: kernels of CUDA device 0 are not sampled (CUPTI's error 35): it needs"
same "refused: no advice" "$(grep -c 'records it' "$scratch/report.err")" 0
folded refused --planes stalls --format table >"$scratch/refused.table"
contains "refused: the table says so, too" "$scratch/refused.table" \
	"nothing of stalls is here: kernels of CUDA device 0 are not sampled"
same "refused: all else is there" "$(folded refused --weight count | sum_folded)" 20000
same "refused: no sample" "$(produced refused)" None
FLAMEGRID_CUPTI=$BUILD/lib/fake-cupti/21/libcupti.so.12 profile old --record stalls -- --launches 20000 --devices 1
contains "CUPTI 12.3: the reason" "$scratch/old.err" "this CUPTI or this GPU does not support it"

# A program without kernels, or with too short ones: the run was recorded so, and that is what reports say.
profile none --record stalls -- --launches 0 --devices 1
folded none --planes stalls >/dev/null
contains "none: no kernel" "$scratch/report.err" \
	"--planes stalls: the profile has nothing of it: the run was to sample kernels, and no sample came: no kernel was recorded"
FAKE_CUPTI_SAMPLES_LEAST_NS=1000000000 profile few --record stalls -- --launches 3 --devices 1
folded few --planes stalls --format table >"$scratch/few.table"
contains "few: the table says so" "$scratch/few.table" \
	"nothing of stalls is here: the run was to sample kernels, and no sample came: its kernels ran before sampling began"
folded few --planes stalls >/dev/null
contains "few: the report, too" "$scratch/report.err" "no sample came: its kernels ran before sampling began"
same "few: no advice" "$(grep -c 'records it' "$scratch/report.err")" 0
same "few: the notice is no line of reports" "$(grep -c 'was to be sampled' "$scratch/few.json" "$scratch/few.err" | grep -vc ':0$')" 0

# Without the option nothing asks for samples.
profile without --record sync -- --launches 2000 --devices 1
check "without: nothing is sampled" test ! -s "$scratch/without.samples"
folded without --planes stalls >/dev/null
contains "without: what records it" "$scratch/report.err" "\`flamegrid run --record stalls\` records it"
