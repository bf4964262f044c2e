# What the tests of device memory share; sourced after harness.sh.
fake_memory=$BUILD/tests/fake_memory

# sites FILE: "GPU kind function bytes" of folded memory, sorted; the function is the one that called CUDA.
sites() {
	awk '{
		bytes = $NF; sub(/ [0-9]+$/, "")
		nr = split($0, frame, ";")
		gpu = "-"; kind = frame[nr]; sub(/.*\]/, "", kind)
		if (match(frame[nr], /^\[GPU[0-9]+_/)) gpu = substr(frame[nr], 5, RLENGTH - 5)
		sum[gpu " " kind " " frame[nr - 2]] += bytes
	} END { for (key in sum) if (sum[key]) printf "%s %.0f\n", key, sum[key] }' "$1" | LC_ALL=C sort
}

# truth_sites COLUMN FILE: the same of the truth, from a column of its "#memory_site" lines, counted from 1.
truth_sites() {
	awk -F'\t' -v column="$1" '$1 == "#memory_site" && $column { printf "%s %s %s %.0f\n", $2, $3, $4, $column }' "$2" |
		LC_ALL=C sort
}

# memory_rows PROFILE: "GPU space peak live" of the JSON report, sorted.
memory_rows() {
	"$flamegrid" report "$1" --format json | awk '/^"memory":\[/ { on = 1; next } on && /^"/ { on = 0 } on' |
		sed -n 's/.*"gpu":\([0-9a-z]*\),"space":"\([a-z]*\)".*"live_bytes":\([0-9]*\),"peak_bytes":\([0-9]*\),.*/\1 \2 \4 \3/p' |
		sed 's/^null/-/' | LC_ALL=C sort
}

truth_rows() { awk -F'\t' '$1 == "#memory" { print $2, $3, $4, $6 }' "$1" | LC_ALL=C sort; }

# compare_memory PROFILE TRUTH WHAT: peaks, live bytes and where they came from are the truth's, to the byte.
compare_memory() {
	local profile=$1 truth=$2 what=$3 memory weight column

	memory_rows "$profile" >"$scratch/have.rows"
	truth_rows "$truth" >"$scratch/want.rows"
	same_lines "$what: peak and live bytes of each device" "$scratch/have.rows" "$scratch/want.rows"
	while read -r memory weight column; do
		"$flamegrid" report "$profile" --memory "$memory" --weight "$weight" >"$scratch/have.folded" 2>/dev/null
		sites "$scratch/have.folded" >"$scratch/have.sites"
		truth_sites "$column" "$truth" >"$scratch/want.sites"
		same_lines "$what: $memory, $weight by function and kind" "$scratch/have.sites" "$scratch/want.sites"
	done <<-END
		peak bytes 12
		peak count 11
		live bytes 10
		live count 9
		allocs bytes 6
		allocs count 5
	END
}
