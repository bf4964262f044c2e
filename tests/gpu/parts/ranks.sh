# A profile of all ranks, as torchrun and mpirun start them.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# ranks_check NAME: one profile, a row a rank and GPU, and all kernels in them.
ranks_check() {
	local name=$1

	"$flamegrid" report "$scratch/$name" --strict -f json >"$out/$name.json"
	same "$name: nothing lost (report --strict)" $? 0
	"$flamegrid" report "$scratch/$name" --ranks | tee "$out/$name.ranks"
	"$flamegrid" report "$scratch/$name" --ranks -f json >"$out/$name.ranks.json"
	"$flamegrid" report "$scratch/$name" --by rank --weight count >"$out/$name.rank.folded"
	python3 - "$out/$name.json" "$out/$name.ranks.json" "$gpus" "$name" <<'PY' || failed=1
import json, sys
profile, rows = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))['ranks']
gpus, name = int(sys.argv[3]), sys.argv[4]
good = [('ranks', [row['rank'] for row in rows], list(range(gpus))),
        ('GPUs', sorted(row['gpu'] for row in rows), list(range(gpus))),
        ('kernels of the ranks', sum(row['kernels'] for row in rows), profile['totals']['kernels'])]
for what, got, expected in good:
    print('%s %s: %s: %s' % ('ok     ' if got == expected else 'NOT OK ', name, what, got))
sys.exit(not all(got == expected for what, got, expected in good))
PY
}

ranks() {
	if ! have_torch || [ "$gpus" -lt 2 ]; then echo "left out: no PyTorch, or one GPU"; return; fi
	"$flamegrid" run -o "$scratch/ranks_torchrun" -- torchrun --nproc_per_node="$gpus" "$here/programs/ddp.py" \
		>"$out/ranks_torchrun.stdout" 2>"$out/ranks_torchrun.stderr"
	same "ranks_torchrun: exit status" $? 0
	grep '^flamegrid' "$out/ranks_torchrun.stderr"
	ranks_check ranks_torchrun
	command -v mpirun >/dev/null || { echo "left out: no mpirun"; return; }
	# shellcheck disable=SC2016
	MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 mpirun --allow-run-as-root --oversubscribe -np "$gpus" \
		"$flamegrid" run -o "$scratch/ranks_mpirun" -- bash -c \
		'RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE exec python3 "$1"' bash \
		"$here/programs/ddp.py" >"$out/ranks_mpirun.stdout" 2>"$out/ranks_mpirun.stderr"
	same "ranks_mpirun: exit status" $? 0
	grep '^flamegrid' "$out/ranks_mpirun.stderr"
	ranks_check ranks_mpirun
}
