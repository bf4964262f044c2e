# Kernels of a compiled model under the lines of the model, without and with the lines that PyTorch itself keeps.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

compiled() {
	have_torch || { echo "left out: no PyTorch"; return; }
	local kind wanted name
	# Each kind has a cache of its own: a graph that is in the cache is not compiled again, and has no list of lines.
	for kind in plain provenance again; do
		name=compiled_$kind
		wanted=95
		unset INDUCTOR_PROVENANCE
		export TORCHINDUCTOR_CACHE_DIR=$scratch/torchinductor_$kind
		[ "$kind" != again ] || TORCHINDUCTOR_CACHE_DIR=$scratch/torchinductor_plain # compiled by an earlier process
		[ "$kind" != provenance ] || { export INDUCTOR_PROVENANCE=1; wanted=100; }
		profile "$name" python3 "$here/programs/backward_train.py" compiled 30 "$scratch/$name.truth"
		cat "$out/$name.stdout"
		if python3 "$here/programs/compiled_check.py" "$kind" "$out/$name.ns.folded" "$wanted"; then
			ok "$name: at least $wanted % of the compiled work stands under lines of the model"
		else
			not_ok "$name: less than $wanted % of the compiled work stands under lines of the model"
		fi
	done
	unset INDUCTOR_PROVENANCE TORCHINDUCTOR_CACHE_DIR
}

# A package of AOTInductor, whose code tells the lines of its kernels. The compiler's libstdc++ comes first, because a
# model's library may crash with the older one's parts in libtorch (std::regex, PyTorch 2.11 with GCC 13).
aoti() {
	have_torch || { echo "left out: no PyTorch"; return; }
	local library
	library=$(g++ -print-file-name=libstdc++.so.6 2>/dev/null)
	[ -e "$library" ] || { echo "left out: no g++"; return; }
	LD_PRELOAD=$library python3 "$here/programs/aoti_serve.py" compile "$scratch/model.pt2" >"$out/aoti_compile.log" 2>&1
	same "aoti: compiled" $? 0
	profile aoti env LD_PRELOAD="$library" python3 "$here/programs/aoti_serve.py" run "$scratch/model.pt2"
	if python3 "$here/programs/aoti_check.py" "$out/aoti.ns.folded" "$scratch/model.pt2"; then
		ok "aoti: at least 95 % of the model's work stands under its lines, and none is wrong"
	else
		not_ok "aoti: lines are missing or wrong"
	fi
}
