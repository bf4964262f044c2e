#!/usr/bin/env bash
# The views and questions of docs/store.md: what they find in three profiles is what the reports say of them.
. "$(dirname "$0")/../support/harness.sh"
readers=$(cd "$(dirname "$0")/../readers" && pwd)
list=$(devices 8)
export LD_LIBRARY_PATH=$BUILD/lib/fake-nccl:$BUILD/lib/fake-cuda

"$flamegrid" run --devices "$list" -o "$scratch/ranks" -- "$BUILD/tests/fake_ranks" --ranks 8 --ahead --steps 240 --late-gpu 5:2000 \
	>/dev/null 2>"$scratch/err"
same "ranks: status" $? 0
FAKE_CUDA_DEVICES=1 FLAMEGRID_CUPTI=$BUILD/lib/fake-cuda/libcupti.so.13 "$flamegrid" run --stacks leaf -o "$scratch/python" \
	--devices "$list" -- python3 "$readers/../capture/python_launches.py" 20 >/dev/null 2>"$scratch/err"
same "Python: status" $? 0
FAKE_CUDA_DEVICES=2 "$flamegrid" run -o "$scratch/memory" --record memory --devices "$list" -- "$BUILD/tests/fake_memory" --devices 2 \
	--threads 6 --rounds 40 >/dev/null 2>"$scratch/err"
same "memory: status" $? 0
check "the questions" python3 "$readers/ask_store.py" "$flamegrid" "$scratch/ranks" "$scratch/python" "$scratch/memory"
"$flamegrid" merge -o "$scratch/merged" "$scratch/ranks" "$scratch/python" >/dev/null 2>&1
same "a merged profile, too" "$(python3 -c 'import sqlite3, sys
profile = sqlite3.connect(f"file:{sys.argv[1]}/profile.db?mode=ro", uri=True)
profile.executescript(open(sys.argv[2]).read())
print(profile.execute("SELECT sum(ns) FROM work").fetchone()[0])' "$scratch/merged" "$readers/../../../docs/views.sql")" "$(total_ns "$scratch/merged")"
