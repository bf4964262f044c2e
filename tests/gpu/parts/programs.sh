# The programs that several parts run.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of measure.sh

build_programs() {
	mkdir -p "$scratch/programs"
	nvcc -O2 -g -arch=native -cudart shared -Xcompiler -fno-omit-frame-pointer "$here/programs/launch_bound.cu" \
		-o "$scratch/programs/launch_bound" 2>"$out/nvcc.log" || { not_ok "nvcc: $out/nvcc.log"; return 1; }
	nvcc -O2 -g -arch=native -cudart shared -Xcompiler -fno-omit-frame-pointer "$here/programs/timeline_work.cu" \
		-o "$scratch/programs/timeline_work" -L/usr/local/cuda/lib64/stubs -lcuda 2>>"$out/nvcc.log" ||
		{ not_ok "nvcc: $out/nvcc.log"; return 1; }
	nvcc -O2 -g -arch=native -cudart shared "$here/programs/occupancy.cu" -o "$scratch/programs/occupancy" \
		2>"$out/nvcc-occupancy.log" || { not_ok "nvcc: $out/nvcc-occupancy.log"; return 1; }
	gcc -O2 -shared -fPIC -I/usr/local/cuda/include "$here/programs/cupti_floor.c" -o "$scratch/libcupti_floor.so" \
		-Wl,-rpath,"$(dirname "$cupti")" "$cupti" 2>"$out/floor.log" || { not_ok "floor: $out/floor.log"; return 1; }
}

build_driver_program() {
	gcc -O2 -D_GNU_SOURCE -I/usr/local/cuda/include "$here/../end-to-end/capture/process_life/life_driver.c" -o "$scratch/driver_program" \
		-ldl 2>"$out/driver_program.log" || not_ok "driver program: $out/driver_program.log"
}
