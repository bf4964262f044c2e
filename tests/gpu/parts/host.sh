# Host threads beside the GPU: CPU samples, waits, and what idle GPUs waited for. Needs root.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# What the training thread did in its life, by the kernel's account; and each device's idle time, by what it is put under.
host_account() {
	python3 - "$scratch/host/profile.db" "$1" "$out/host.json" "$out/host.idle.folded" <<'PY' || failed=1
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
lifetime = float(sys.argv[2]) * 1e9
tid, cpu, off = db.execute('select tid, sum(case kind when 0 then ns end), sum(case kind when 1 then ns end) from host_samples '
                           'group by process, tid order by 2 desc').fetchone()
short = dict(db.execute('select reason, sum(ns) from ledger group by 1')).get(37, 0)
share = 100 * ((cpu or 0) + (off or 0)) / lifetime
print('host: the training thread: %.2f s on the CPU, %.2f s off it, of %.2f s: %.1f %% (short waits of all threads: %.2f s)'
      % (cpu / 1e9, (off or 0) / 1e9, lifetime / 1e9, share, short / 1e9))
ok = 95 <= share <= 105
print('%s host: its life is explained: %.1f %%' % ('ok     ' if ok else 'NOT OK ', share))
idle, unknown = {}, {}
for line in open(sys.argv[4]):
    stack, ns = line.rsplit(' ', 1)
    leaf = stack.rsplit(';', 1)[1].removesuffix('pause')
    idle[leaf] = idle.get(leaf, 0) + int(ns)
    if '[unknown]' in stack:
        unknown[leaf] = unknown.get(leaf, 0) + int(ns)
devices = json.load(open(sys.argv[3]))['devices']
expected = {'[GPU%d_Idle]' % device['gpu']: device['idle_ns'] for device in devices}
same = {leaf: ns for leaf, ns in expected.items() if ns} == idle
print('%s host: idle time by device equals span less busy: %s' % ('ok     ' if same else 'NOT OK ', idle if same else (idle, expected)))
for leaf, ns in idle.items():
    print('host: %s: %.1f %% of it unknown' % (leaf, 100 * unknown.get(leaf, 0) / ns))
sys.exit(not (ok and same))
PY
}

host() {
	have_torch || { echo "left out: no PyTorch"; return; }
	[ "$(id -u)" = 0 ] || { echo "left out: not root"; return; }
	# From its fork to its end: CUDA takes its time to go.
	# shellcheck disable=SC2016
	"$flamegrid" run --cpu-hz 499 --off-cpu 20us -o "$scratch/host" -- bash -c 'TIMEFORMAT="lifetime %3R"; time python3 "$@"' bash \
		"$here/programs/duty_train.py" 8 >"$out/host.stdout" 2>"$out/host.stderr"
	same "host: exit status" $? 0
	cat "$out/host.stdout"
	grep '^flamegrid:' "$out/host.stderr"
	"$flamegrid" report "$scratch/host" --format json >"$out/host.json"
	"$flamegrid" report "$scratch/host" --planes idle --unit ns >"$out/host.idle.folded"
	"$flamegrid" report "$scratch/host" --planes cpu --unit ns >"$out/host.cpu.folded"
	"$flamegrid" report "$scratch/host" --planes offcpu --unit ns >"$out/host.offcpu.folded"
	"$flamegrid" report "$scratch/host" --strict >/dev/null 2>"$out/host.strict"
	same "host: nothing lost (report --strict)" $? 0
	host_account "$(sed -n 's/^lifetime //p' "$out/host.stderr")"
	echo "host: waits by reason:"
	sed -n 's/.*\[Off-CPU\]\(.*\) \([0-9]*\)$/\1 \2/p' "$out/host.offcpu.folded" | awk '{ n = $NF; $NF = ""; s[$0] += n } END { for (r in s) printf "%12.3f ms %s\n", s[r] / 1e6, r }' | sort -rn
	at_least "host: frames of the GPU's driver in waits" "$(grep -cE ';(nvidia|uvm|nv)_[a-z_]*_\[k\]' "$out/host.offcpu.folded")" 0
	overhead_host
}

# Tiny kernels with all of it on.
overhead_host() {
	local round kind

	for round in 1 2 3; do
		for kind in "" "--cpu-hz 99" "--cpu-hz 99 --off-cpu 1ms"; do
			# shellcheck disable=SC2086
			printf '%s: ' "launch_bound ${kind:-alone}"
			# shellcheck disable=SC2086
			"$flamegrid" run -q $kind -o "$scratch/timed" -- "$scratch/programs/launch_bound" 100000 2>/dev/null |
				sed -n 's/^thread 0 device 0 ns.launch://p' | tr ' ' '\n' | grep -v '^$' | tail -n +2 | median
		done
	done
}
