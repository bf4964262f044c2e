# Kernels of JAX under XLA's operations and the lines that made them.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# jax_check FOLDED: of the GPU time under main(), at least 95 % has an operation and a line of the script.
jax_check() {
	python3 - "$1" <<'PY'
import re, sys
total = hlo = line = 0
for text in open(sys.argv[1]):
    path, ns = text.rstrip('\n').rsplit(' ', 1)
    frames = path.split(';')
    if not any(frame.startswith('jax_train.py:') for frame in frames):
        continue
    total += int(ns)
    at = [i for i, frame in enumerate(frames) if frame.startswith('[HLO]')]
    hlo += int(ns) if at else 0
    line += int(ns) if at and any(re.search(r'jax_train\.py:\w+:\d+', frame) for frame in frames[:at[-1] + 1]) else 0
print('of %d ns under the script: %.2f %% with an operation, %.2f %% with an operation and a line' % (
    total, 100 * hlo / max(total, 1), 100 * line / max(total, 1)))
sys.exit(not total or line < 0.95 * total)
PY
}

jax() {
	python3 -c 'import jax' 2>/dev/null || { echo "left out: no JAX"; return; }
	export XLA_PYTHON_CLIENT_PREALLOCATE=false
	"$flamegrid" run --nvtx -o "$scratch/jax" -- python3 "$here/programs/jax_train.py" \
		>"$out/jax.stdout" 2>"$out/jax.stderr"
	same "jax: exit status" $? 0
	unset XLA_PYTHON_CLIENT_PREALLOCATE
	grep '^flamegrid' "$out/jax.stderr"
	"$flamegrid" report "$scratch/jax" --unit ns -o "$out/jax.ns.folded" 2>/dev/null
	if jax_check "$out/jax.ns.folded"; then ok "jax: at least 95 % with an operation and a line"; else
		not_ok "jax: less than 95 % with an operation and a line"; fi
}
