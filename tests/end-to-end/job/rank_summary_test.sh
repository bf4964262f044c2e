#!/usr/bin/env bash
# report --ranks: what each of eight ranks did is what the fake's truth says, the time of communication beside computation what
# its single records say, to the nanosecond; and the rank that was planted is named.
. "$(dirname "$0")/../support/harness.sh"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
node_devices 2 0 1 2 3
declare -A rank_pid

# rank STEP RANK SIZE OPTION...: fake_launches with these options in the background, two ranks a node, a GPU each.
rank() {
	local step=$1 rank=$2 size=$3 node=$(($2 / 2))
	shift 3
	env PMIX_NAMESPACE="$step" OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE="$size" OMPI_COMM_WORLD_LOCAL_RANK=$((rank % 2)) \
		CUDA_VISIBLE_DEVICES=$((rank % 2)) FAKE_CUDA_HOST_SEED=$((node + 1)) FAKE_CUDA_DEVICES=2 \
		FAKE_CUDA_TRUTH="$scratch/$step.truth.$rank" FAKE_CUDA_RECORDS="$scratch/$step.records.$rank" \
		"$flamegrid" run --node-name "node$node" --devices "$scratch/devices.$node" -o "$scratch/$step" -- "$fake_launches" --nccl "$@" \
		>"$scratch/out.$rank" 2>"$scratch/err.$rank" &
	rank_pid[$rank]=$!
}
# finish_ranks SIZE
finish_ranks() { for ((r = 0; r < $1; r++)); do wait "${rank_pid[$r]}" && ok "rank $r: status" || not_ok "rank $r: status"; done; }
# column NAME RANK: of the CSV of $scratch/csv.
column() {
	awk -F, -v name="$1" -v rank="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } /^#/ { next } $1 == rank { print $at[name] }' "$scratch/csv"
}
# truth COLUMN KIND PATTERN NOT FILE: a sum over its rows of that kind whose name matches the pattern, or not.
truth() {
	awk -F'\t' -v column="$1" -v kind="$2" -v pattern="$3" -v invert="$4" '
		FNR == 1 { sub(/^# */, "", $1); for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["kind"] == kind && ($at["name"] ~ pattern) != invert { sum += $at[column] } END { printf "%.0f\n", sum }' "$5"
}
# unions FILE: window, busy, NCCL's time and that of it beside other kernels, of single records. Times are less the first, as awk
# has 53 bits.
unions() {
	local base
	base=$(cut -f4 "$1" | LC_ALL=C sort | head -n 1)
	while IFS=$'\t' read -r _ kind name start end; do
		case $kind:$name in kernel:*nccl*) what=2 ;; kernel:*) what=1 ;; *) what=3 ;; esac
		printf '%d 1 %d\n%d -1 %d\n' $((start - base)) $what $((end - base)) $what
	done <"$1" | LC_ALL=C sort -n -k1,1 | awk '
		{
			gap = $1 - last
			if (open[1] + open[2] + open[3]) busy += gap
			if (open[2]) nccl += gap
			if (open[1] && open[2]) both += gap
			open[$3] += $2; last = $1
		}
		END { printf "%.0f %.0f %.0f %.0f\n", last, busy, nccl, both }'
}

# ---- eight ranks, each with kernels of both sorts on two streams at once, and copies. Rank 5 has fewer rounds.
for r in 0 1 2 3 4 5 6 7; do
	launches=3000
	[ $r -ne 5 ] || launches=2000
	rank whole $r 8 --kernels 3 --streams 2 --threads 2 --launches $launches --copies 20
done
finish_ranks 8
check "nothing lost" "$flamegrid" report "$scratch/whole" --strict -o /dev/null
check "csv" "$flamegrid" report "$scratch/whole" -f csv --rows ranks -o "$scratch/csv"
same "a row each, in order" "$(grep -v '^r' "$scratch/csv" | cut -d, -f1-3 | tr '\n' ' ')" \
	"0,node0,0 1,node0,1 2,node1,0 3,node1,1 4,node2,0 5,node2,1 6,node3,0 7,node3,1 "
for r in 0 1 2 3 4 5 6 7; do
	file=$scratch/whole.truth.$r
	same "rank $r: compute" "$(column compute_kernels $r) $(column compute_ns $r)" \
		"$(truth valid_count kernel nccl 1 "$file") $(truth valid_ns kernel nccl 1 "$file")"
	same "rank $r: NCCL" "$(column nccl_kernels $r) $(column nccl_ns $r)" \
		"$(truth valid_count kernel nccl 0 "$file") $(truth valid_ns kernel nccl 0 "$file")"
	same "rank $r: copies" "$(column copies $r) $(column memcpy_ns $r)" \
		"$(truth valid_count memcpy . 0 "$file") $(truth valid_ns memcpy . 0 "$file")"
	same "rank $r: fills" "$(column fills $r) $(column memset_ns $r)" \
		"$(truth valid_count memset . 1 "$file") $(truth valid_ns memset . 1 "$file")"
	same "rank $r: window, busy, NCCL's time, overlap" \
		"$(column window_ns $r) $(column busy_ns $r) $(column nccl_busy_ns $r) $(column overlap_ns $r)" "$(unions "$scratch/whole.records.$r")"
	same "rank $r: each kernel has a delay" "$(column delays $r)" "$(truth valid_count kernel . 0 "$file")"
	check "rank $r: which is some time, of the window" test "$(column delay_ns $r)" -gt 0 -a "$(column delay_ns $r)" -lt "$(column delay_max_ns $r)" \
		-a "$(column delay_max_ns $r)" -lt "$(column window_ns $r)"
	check "rank $r: some overlap, but not all" test "$(column overlap_ns $r)" -gt 0 -a "$(column overlap_ns $r)" -lt "$(column nccl_busy_ns $r)"
done
same "records of all" "$(awk -F, 'NR > 1 && !/^#/ { sum += $5 } END { printf "%.0f\n", sum }' "$scratch/csv")" \
	"$(cat "$scratch"/whole.records.? | wc -l)"

# ---- the other formats say the same
check "table" "$flamegrid" report "$scratch/whole" --ranks -o "$scratch/table"
same "rows of the table" "$(grep -c ' pid [0-9]' "$scratch/table")" 8
contains "rank 5 is named" "$scratch/table" "rank 5 on node2 GPU1 ("
check "it has computed less" grep -q 'rank 5 on node2 GPU1 ([^)]*compute -33\.[0-9] %' "$scratch/table"
check "its row is marked" grep -q '^ *5 .*\*.* node2 GPU1 pid' "$scratch/table"
contains "what every report ends with" "$scratch/table" "100.00 % matched; nothing lost"
valid_report "$scratch/whole" --ranks
check "json" "$flamegrid" report "$scratch/whole" --ranks -f json -o "$scratch/json"
if command -v python3 >/dev/null; then
	check "json is valid, and has what csv has" python3 - "$scratch/json" "$scratch/csv" <<-'END'
		import csv, json, sys
		report = json.load(open(sys.argv[1]))
		lines = [line for line in open(sys.argv[2]) if not line.startswith("#")]
		assert report["compared"] is True and len(report["ranks"]) == 8
		for have, want in zip(report["ranks"], csv.DictReader(lines), strict=True):
		    for name, value in want.items():
		        if name == "outliers":
		            assert have[name] == value.split(), (have, want)
		        elif name in ("host", "job"):
		            assert have[name] == value, (have, want)
		        elif value == "":
		            assert have[name] is None, (have, want)
		        else:
		            assert isinstance(have[name], int) and have[name] == int(value), (name, have, want)
		    assert have["kernel_ns"] == have["compute_ns"] + have["nccl_ns"]
		assert "compute" in report["ranks"][5]["outliers"]
	END
fi
"$flamegrid" report "$scratch/whole" --ranks -f csv >"$scratch/csv.2" 2>/dev/null
same_lines "--ranks -f csv is --rows ranks" "$scratch/csv.2" "$scratch/csv"
"$flamegrid" report "$scratch/whole" --ranks -f html >/dev/null 2>"$scratch/err"
same "of no other format: status" $? 2
contains "of no other format" "$scratch/err" "--ranks cannot be written as html (--format table, json, csv)"
"$flamegrid" report "$scratch/whole" --rows ranks >"$scratch/csv.2" 2>/dev/null
same_lines "--rows ranks alone is csv" "$scratch/csv.2" "$scratch/csv"
"$flamegrid" report "$scratch/whole" --rows ranks -f table >/dev/null 2>"$scratch/err"
same "rows are csv's: status" $? 2
contains "rows are csv's" "$scratch/err" "--rows ranks cannot be written as table (--format csv)"

# ---- one rank without a launcher, with memory
FAKE_CUDA_DEVICES=2 "$flamegrid" run --record memory -o "$scratch/one" --devices "$(devices 2)" -- "$fake_launches" --devices 2 --threads 2 \
	--launches 300 --copies 2 >/dev/null 2>&1
same "one rank: status" $? 0
"$flamegrid" report "$scratch/one" --ranks >"$scratch/table"
same "one rank: a row a GPU, without a rank" "$(grep -c '^ *- .* GPU[01] pid ' "$scratch/table")" 2
contains "one rank: not compared" "$scratch/table" "fewer than 4 ranks: not compared"
"$flamegrid" report "$scratch/one" --ranks -f csv >"$scratch/csv"
same "one rank: peaks of memory" "$(column peak_bytes '' | tr '\n' ' ')" "131072 131072 "

# ---- capture windows are not the run
FAKE_CUDA_DEVICES=2 "$flamegrid" run --duty 20ms/60ms -o "$scratch/windows" --devices "$(devices 2)" -- "$fake_launches" --launches 300000 \
	>/dev/null 2>"$scratch/err"
"$flamegrid" report "$scratch/windows" --ranks >"$scratch/table"
contains "the table says what idle is then" "$scratch/table" "captured in windows: time between them was not captured, and is no idle time"
check "the table says what was captured" grep -qE 'captured .*, not the run' "$scratch/table"
