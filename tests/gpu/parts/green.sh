# Green contexts: parts of a GPU.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

# What CUPTI tells of them, and launches of known numbers into two parts and the whole; in a window, too.
green() {
	local name launches=20000

	if nvcc -O2 -arch=native "$here/programs/green_probe.cu" -o "$scratch/green_probe" -I"$(dirname "$cupti")/../include" \
		-L/usr/local/cuda/extras/CUPTI/lib64 -L/usr/local/cuda/lib64/stubs -lcuda -lcupti 2>"$out/green_probe.log"; then
		LD_LIBRARY_PATH=/usr/local/cuda/extras/CUPTI/lib64:/usr/local/cuda/lib64 timeout 60 "$scratch/green_probe" >"$out/green_probe.txt" 2>&1
		echo "green_probe: status $?, $(grep -c ' green 1 ' "$out/green_probe.txt") green contexts in CUPTI's records"
	else
		echo "green_probe: not built: $out/green_probe.log"
	fi
	gcc -O1 -g -fno-omit-frame-pointer "$here/programs/green_parts.c" -o "$scratch/green_parts" -ldl || { not_ok "green_parts"; return; }
	profile green "$scratch/green_parts" $launches
	cat "$out/green.stdout"
	"$flamegrid" report "$scratch/green" --by context,stream -w count | tee "$out/green.contexts.folded"
	same "green: on the whole GPU" "$(under "$out/green.contexts.folded" on_whole '^context1;')" $((2 * launches))
	same "green: in a part, by its stream" "$(under "$out/green.contexts.folded" in_first_part '^green context[0-9]+ .16 SMs.;stream[0-9]+ .priority -1.;')" $((2 * launches))
	same "green: in a part that is current" "$(under "$out/green.contexts.folded" in_second_part '^green context[0-9]+ .32 SMs.;')" $((3 * launches))
	grep 'green context' "$out/green.table"
	# Parts are made before the window opens, or while CUPTI is not there.
	for name in duty late; do
		"$flamegrid" run $([ $name = duty ] && echo "--duty 50ms/150ms" || echo "--delay 300ms") -o "$scratch/green_$name" -- \
			"$scratch/green_parts" $((10 * launches)) >"$out/green_$name.out" 2>"$out/green_$name.err"
		same "green: $name: status" $? 0
		cat "$out/green_$name.err"
		"$flamegrid" report "$scratch/green_$name" --by context -w count 2>/dev/null | tee "$out/green_$name.folded"
	done
}
