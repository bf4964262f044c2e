# A second user of CUPTI beside the guest.
# shellcheck shell=bash disable=SC2034,SC2086,SC2154 # variables of measure.sh; words that are to be split

kineto_run() {
	local name=$1
	shift
	"$flamegrid" run -o "$scratch/$name" -- "$@" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	grep -E '^flamegrid(-agent)?:' "$out/$name.stderr"
	"$flamegrid" report "$scratch/$name" --weight count >"$out/$name.folded"
	"$flamegrid" report "$scratch/$name" --format json | tr -d '\n' >"$out/$name.json"
	grep -oE '"(ledger|notices)":\[[^]]*\]' "$out/$name.json"
}
kineto_ledger() { grep -o "\"reason\":\"$2\",\"count\":[0-9]*" "$out/$1.json" | sed 's/.*://' | awk '{ s += $1 } END { printf "%.0f\n", s }'; }
# within NAME FIGURE FROM TO
within() { if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then ok "$1: $2 ($3 to $4)"; else not_ok "$1: $2, expected $3 to $4"; fi; }

# PyTorch's session is what it is alone; what ran before and after it is in the profile, what ran within is counted.
kineto_torch() {
	local name=$1 steps='20000 20000 400000' phase outside_before inside outside_after

	python3 "$here/programs/torch_profiler.py" $steps >"$out/$name.alone" 2>&1
	kineto_run "$name" python3 "$here/programs/torch_profiler.py" $steps
	same "$name: its session sees what it sees alone" "$(grep '^session' "$out/$name.stdout")" "$(grep '^session' "$out/$name.alone")"
	same "$name: PyTorch says that CUPTI failed" "$(grep -c 'CUPTI initialization failed' "$out/$name.stderr")" 0
	for phase in outside_before inside outside_after; do
		eval "$phase=$(leaf_sum <(grep ":$phase:" "$out/$name.folded") '_Kernel\]')"
	done
	same "$name: kernels before" "$outside_before" 20000
	same "$name: kernels within" "$inside" 0
	within "$name: kernels after" "$outside_after" 390000 400000
	within "$name: records and those counted as missing" \
		$((outside_before + inside + outside_after + $(kineto_ledger "$name" activity_taken) + $(kineto_ledger "$name" invalid_time))) 439900 440200
	kineto_times "$name"
}

# The profiler leaves CUPTI a clock that counts cycles: the same kernel takes as long afterwards, by the clock of before.
kineto_times() {
	python3 - "$out/$1.json" "$1" <<'PY' || failed=1
import json, sys
profile = json.load(open(sys.argv[1]))
mean = {}
for leaf in profile['leaves']:
    for phase in ('outside_before', 'outside_after'):
        if leaf['kind'] == 'kernel' and any(':%s:' % phase in frame for frame in leaf['frames']):
            count, ns = mean.get(phase, (0, 0))
            mean[phase] = (count + leaf['count'], ns + leaf['ns'])
before, after = (mean[phase][1] / mean[phase][0] for phase in ('outside_before', 'outside_after'))
alike = 0.8 < after / before < 1.25
print('%s %s: a kernel takes %.0f ns before, %.0f ns after' % ('ok     ' if alike else 'NOT OK ', sys.argv[2], before, after))
device = profile['devices'][0]
span = (device['last_ns'] - device['first_ns']) / 1e9
print('%s %s: all times lie within %.1f s' % ('ok     ' if span < 300 else 'NOT OK ', sys.argv[2], span))
sys.exit(not (alike and span < 300))
PY
}

# A program that uses CUPTI so itself; also one that ends it.
kineto_program() {
	local kernels launched

	nvcc -O2 -arch=native -cudart shared "$here/programs/shared_cupti.cu" -o "$scratch/programs/shared_cupti" \
		-I/usr/local/cuda/extras/CUPTI/include -Xlinker -rpath -Xlinker "$(dirname "$cupti")" -Xlinker "$cupti" \
		2>"$out/nvcc-shared.log" || { not_ok "nvcc: $out/nvcc-shared.log"; return; }
	kineto_run shared_cupti "$scratch/programs/shared_cupti" 20000 20000 20000 3
	same "shared_cupti: subscribed" "$(grep '^subscribed' "$out/shared_cupti.stdout")" "subscribed 0"
	same "shared_cupti: its sessions are whole" "$(grep '^session' "$out/shared_cupti.stdout")" "session 60000 60000"
	launched=$(sed -n 's/^launched //p' "$out/shared_cupti.stdout")
	kernels=$(leaf_sum "$out/shared_cupti.folded" '_Kernel\]')
	within "shared_cupti: records and those counted as missing" \
		$((kernels + $(kineto_ledger shared_cupti activity_taken))) $((launched - 300)) $((launched + 300))
	kineto_run shared_finalize "$scratch/programs/shared_cupti" 20000 20000 20000 1 finalize
	same "shared_finalize: finalized" "$(grep '^finalized' "$out/shared_finalize.stdout")" "finalized 0"
	same "shared_finalize: its session is whole" "$(grep '^session' "$out/shared_finalize.stdout")" "session 20000 20000"
	within "shared_finalize: kernels outside, before and after" "$(leaf_sum "$out/shared_finalize.folded" '_Kernel\]')" 20100 99999999
	within "shared_finalize: counted as missing" "$(kineto_ledger shared_finalize activity_taken)" 20000 21000
}

# A second user of CUPTI's activity API: what CUPTI does, and PyTorch's profiler beside ours.
kineto() {
	gcc -O2 "$here/programs/activity_probe.c" -o "$scratch/activity_probe" -ldl || { not_ok "activity_probe"; return; }
	timeout 120 "$scratch/activity_probe" "$cupti" >"$out/activity_probe.txt" 2>&1
	echo "activity_probe: status $?"
	cat "$out/activity_probe.txt"
	kineto_program
	have_torch || { echo "left out: no PyTorch"; return; }
	kineto_torch torch_profiler
	TEARDOWN_CUPTI=1 kineto_torch torch_teardown
	kineto_run torch_sessions python3 "$here/programs/torch_sessions.py" 150 100
	same "torch_sessions: all that ran in them" "$(grep '^sessions' "$out/torch_sessions.stdout")" "sessions whole 150 some 0 none 0"
	FLAMEGRID_SHARE=off kineto_run torch_off python3 "$here/programs/torch_profiler.py" 20000 20000 20000
	same "torch_off: without sharing its session sees nothing" "$(grep '^session' "$out/torch_off.stdout")" "session saw 0"
	same "torch_off: and nothing is missing" "$(kineto_ledger torch_off activity_taken)" 0
}
