# A profile, and what its folded lines and its ledger say.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# Sum of the weights of folded lines whose leaf matches.
leaf_sum() { awk -v leaf="$2" '{ n = $NF; $NF = ""; if ($0 ~ leaf) s += n } END { printf "%.0f\n", s }' "$1"; }

# profile NAME COMMAND...: runs it under flamegrid, keeps folded outputs by stream.
profile() {
	local name=$1
	shift

	"$flamegrid" run -o "$scratch/$name" -- "$@" >"$out/$name.stdout" 2>"$out/$name.stderr"
	same "$name: exit status" $? 0
	grep '^flamegrid:' "$out/$name.stderr"
	"$flamegrid" report "$scratch/$name" --format folded --unit ns >"$out/$name.ns.folded"
	"$flamegrid" report "$scratch/$name" --format folded --weight count >"$out/$name.count.folded"
	"$flamegrid" report "$scratch/$name" --format folded --weight count --by gpu,stream >"$out/$name.streams.folded"
	"$flamegrid" report "$scratch/$name" --format table --top 25 >"$out/$name.table"
	"$flamegrid" report "$scratch/$name" --format json >"$scratch/$name.json"
	"$flamegrid" report "$scratch/$name" --format table --strict >/dev/null 2>&1
	same "$name: nothing lost (report --strict)" $? 0
	same "$name: folded count and ns by device equal what CUPTI delivered" "$(python3 - "$scratch/$name/profile.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
folded = db.execute('select process, device_id, sum(count), sum(ns) from totals group by 1, 2 order by 1, 2').fetchall()
made = db.execute('select process, device_id, count, ns from ledger where reason = 5 order by 1, 2').fetchall()
print('equal' if folded == made and folded else f'{folded} and {made}')
PY
	)" equal
	same "$name: records without a launch" "$(grep -c '^\[unknown stack\]' "$out/$name.count.folded")" 0
}

# whole NAME [SHARE]: at least 99.9 % (or SHARE) of the launches reached a root, by the ledger; says what stopped the others.
whole() {
	python3 - "$scratch/$1/profile.db" "$1" "${2:-99.9}" <<'PY' || failed=1
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
count = dict(db.execute('select reason, sum(count) from ledger group by 1'))
names = {19: 'table not ready', 20: 'no usable rule', 21: 'truncated', 22: 'mismatch', 4: 'stack table full', 23: 'no Python frames'}
lacking = sum(count.get(reason, 0) for reason in (19, 20, 21, 4))
share = 100 * (1 - lacking / max(count.get(0, 0), 1))
print('%s %s: %.3f %% of %d launches reach a root (%s)' % (
    'ok     ' if share >= float(sys.argv[3]) else 'NOT OK ', sys.argv[2], share, count.get(0, 0),
    ', '.join('%s %d' % (names[r], count[r]) for r in names if count.get(r)) or 'none lacks anything'))
for (text,) in db.execute("select distinct cast(s.data as text) from process_notices n join strings s on s.id = n.text where cast(s.data as text) like '%unwind%' or cast(s.data as text) like '%native stacks%'"):
    print('        ', text)
sys.exit(share < float(sys.argv[3]))
PY
}

# share NAME EXPRESSION: how many of the GPU records counted in its folded lines match.
share() { awk -v want="$2" '{ n = $NF; all += n; if ($0 ~ want) s += n } END { printf "%.0f of %.0f\n", s, all }' "$out/$1.count.folded"; }

# plane NAME PLANE: the folded counts and bytes of a plane.
plane() {
	"$flamegrid" report "$scratch/$1" --planes "$2" --weight count >"$out/$1.$2.count.folded" 2>/dev/null
	"$flamegrid" report "$scratch/$1" --planes "$2" --unit ns >"$out/$1.$2.ns.folded" 2>/dev/null
	"$flamegrid" report "$scratch/$1" --planes "$2" --weight bytes >"$out/$1.$2.bytes.folded" 2>/dev/null
}

# under FILE FUNCTION LEAF: the sum of the lines with that function and that leaf.
under() { awk -v function_name="$2" -v leaf="$3" '{ n = $NF; $NF = ""; if ($0 ~ function_name && $0 ~ leaf) s += n } END { printf "%.0f\n", s }' "$1"; }
