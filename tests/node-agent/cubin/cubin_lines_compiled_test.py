"""Lines of what nvcc and ptxas of this machine compile.

Usage: cubin_lines_compiled_test.py DUMP NVCC SCRATCH. Chains of inlined functions are compared with those that
inlined_lines.cu has. Every instruction of every cubin is compared with line_table.py, which decodes the table on its own."""

import os
import re
import subprocess
import sys

from line_table import Cubin

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "inlined_lines.cu")
MIDDLE, OUTER, LEAF = "_ZN5steps6middleEPKfi", "_ZN5steps5outerILi%dEEEfPKfi", "_ZN5steps4leafEPKfi"
SCALED, APART = "_ZN5steps6scaledILi%dEEEvPfPKf", "_ZN5steps5apartEPKfi"
DIVISION = "__cuda_sm3x_div_rn_noftz_f32_slowpath"
DEVICE_CODE = """
__device__ __forceinline__ float {0}_leaf(const float *from, int at)
{{
	return from[at] * 3.0f;
}}
extern "C" __device__ float {1}(const float *from, int at);
extern "C" __device__ float {0}(const float *from, int at)
{{
	__syncthreads();
	return {0}_leaf(from, at) + {2};
}}
"""
SORTING = """
#include <cub/cub.cuh>
template <int ITEMS> __global__ void sort(float *data)
{
	using Sort = cub::BlockRadixSort<float, 128, ITEMS>;
	__shared__ typename Sort::TempStorage storage;
	float keys[ITEMS];
	for (int i = 0; i < ITEMS; i++)
		keys[i] = data[threadIdx.x * ITEMS + i];
	Sort(storage).Sort(keys);
	for (int i = 0; i < ITEMS; i++)
		data[threadIdx.x * ITEMS + i] = keys[i] / keys[0];
}
template __global__ void sort<4>(float *);
template __global__ void sort<9>(float *);
"""
# As Triton hands it to ptxas: lines of Python, helpers inlined from its own library.
TRITON = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_kernel(.param .u64 p)
{
	.reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .b32 %r<2>;
	.loc 1 10 0
	ld.param.b64 %rd1, [p];
	.loc 1 12 24
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.f32 %f1, [%rd3];
	.loc 1 14 20
	.loc 2 267 36, function_name $L__info_string0, inlined_at 1 14 20
	.loc 2 256 15, function_name $L__info_string1, inlined_at 2 267 36
	sqrt.approx.f32 %f2, %f1;
	.loc 1 15 20
	.loc 2 277 15, function_name $L__info_string0, inlined_at 1 15 20
	ex2.approx.f32 %f3, %f2;
	.loc 1 16 20
	st.global.f32 [%rd3], %f3;
	ret;
}
	.file 1 "/home/u/add_kernel.py"
	.file 2 "/usr/lib/python3/site-packages/triton/language/standard.py"
	.section .debug_str
	{
$L__info_string0:
	.b8 115
	.b8 117
	.b8 109
	.b8 0
$L__info_string1:
	.b8 97
	.b8 100
	.b8 100
	.b8 0
	}
"""


class Fault(Exception):
    """The product's lines differ from what they must be."""


def check(condition, text):
    if not condition:
        raise Fault(text)


class Compiler:
    def __init__(self, dump, nvcc, scratch):
        self.dump, self.nvcc, self.scratch = dump, nvcc, scratch
        self.ptxas = os.path.join(os.path.dirname(nvcc), "ptxas")
        os.makedirs(scratch, exist_ok=True)
        listed = subprocess.run([nvcc, "--list-gpu-code"], check=True, capture_output=True, text=True).stdout.split()
        self.architectures = [name for name in ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120") if name in listed]

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def compile(self, name, *arguments):
        subprocess.run([self.nvcc, "-o", self.path(name), *arguments], check=True, cwd=self.scratch)
        return self.path(name)

    def ask(self, path, places):
        """The chains of (function, offset) pairs: lists of (function, file, line). The first line of the output comes first."""
        asked = "".join(f"{function} {offset}\n" for function, offset in places)
        run = subprocess.run([self.dump, path], input=asked, capture_output=True, text=True, check=False)
        head, *answers = run.stdout.splitlines()
        check(run.returncode == (0 if head.endswith(" read") else 1), f"{path}: exit status {run.returncode}")
        frames = []
        for answer in answers:
            words = answer.split("\t") if answer else []
            frames.append([(words[i], words[i + 1], int(words[i + 2])) for i in range(0, len(words), 3)])
        return head, frames

    def compare(self, path):
        """Compares every instruction of every function. Returns their chains by function, and how many there were."""
        cubin = Cubin(path)
        places = [(function.name, offset) for function in cubin.functions for offset in range(0, function.size, 16)]
        head, frames = self.ask(path, places)
        check(head == "lines read", f"{path}: {head}")
        check(len(frames) == len(places), f"{path}: {len(frames)} answers to {len(places)} places")
        chains = {}
        for (function, offset), chain in zip(places, frames):
            expected = cubin.chain(function, offset)
            check(chain == expected, f"{path}: {function}+{offset:#x}: {chain}, not {expected}")
            chains.setdefault(function, []).append(tuple((name, line) for name, _, line in chain))
        return chains, len(places)


def check_chains(chains, function, required, also):
    found = {chain for chain in chains[function] if chain}
    check(required <= found, f"{function}: lacks {required - found}")
    check(found <= required | also, f"{function}: has {found - required - also}")


def check_optimized(chains):
    for width in (3, 5):
        scaled, outer = SCALED % width, OUTER % width
        above = ((outer, 17), (scaled, 28))
        check_chains(
            chains, scaled,
            {((LEAF, 6), (MIDDLE, 11)) + above, ((MIDDLE, 12),) + above, above, ((LEAF, 6), (scaled, 29)), ((scaled, 29),)},
            {((MIDDLE, 11),) + above} | {((scaled, line),) for line in (25, 26, 27, 28, 30)})
    apart = {((LEAF, 6), (APART, 22)), ((APART, 22),)}
    middle = {((LEAF, 6), (MIDDLE, 11), ("plain", 40)), ((MIDDLE, 12), ("plain", 40)), ((MIDDLE, 11), ("plain", 40))}
    check_chains(chains, "plain", apart | {chain for chain in middle if chain[0] != (MIDDLE, 11)} | {(("plain", 41),)},
                 middle | {((APART, line),) for line in (20, 21, 23)} | {(("plain", line),) for line in (37, 38, 39, 40, 42)})
    check_chains(chains, "$plain$" + APART, apart, {((APART, line),) for line in (20, 21, 23)})
    check_chains(chains, "divided", {(("divided", 47),), ((DIVISION, 0),)},
                 {(("divided", line),) for line in (44, 45, 46, 48)})


def check_unoptimized(chains):
    """Without inlining there is no chain: lines of inlined functions stand in the kernel."""
    lines = {chain[0][1] for chain in chains[SCALED % 3] if chain}
    check({6, 11, 12, 17, 27, 28, 29} <= lines, f"lines without optimization: {lines}")
    check({22} <= {chain[0][1] for chain in chains[APART] if chain}, "apart has no line 22")


def check_kernels(compiler):
    count = 0
    for architecture in compiler.architectures:
        arguments = ("-cubin", f"-arch={architecture}", SOURCE)
        chains, compared = compiler.compare(compiler.compile("lines.cubin", "-lineinfo", *arguments))
        check_optimized(chains)
        count += compared
        chains, compared = compiler.compare(compiler.compile("debug.cubin", "-G", *arguments))
        check_unoptimized(chains)
        count += compared
    return count


def check_without_lines(compiler):
    path = compiler.compile("none.cubin", "-cubin", f"-arch={compiler.architectures[0]}", SOURCE)
    head, frames = compiler.ask(path, [("plain", 0)])
    check(head == "none No data available" and not frames, head)


def check_linked(compiler, architecture):
    """Names of two units; the assembler for sm_90 leaves out where those of the second begin."""
    option = f"-arch={architecture}"
    kernel = '\n__global__ void kernel(float *to)\n{\n\tto[0] = first(to, 1) + second(to, 2);\n}\n'
    objects = []
    for name, other, rest in (("first", "second", kernel), ("second", "first", "")):
        source = compiler.write(name + ".cu", DEVICE_CODE.format(name, other, len(name)) + rest)
        objects.append(compiler.compile(name + ".o", "-rdc=true", option, "-lineinfo", "-c", source))
    chains, count = compiler.compare(
        compiler.compile("linked.cubin", "-rdc=true", option, "-lineinfo", "-dlink", "-cubin", *objects))
    kernel = "_Z6kernelPf"
    required = {(("_Z10first_leafPKfi", 4), ("first", 10), (kernel, 15)), (("first", 10), (kernel, 15)), ((kernel, 15),)}
    check_chains(chains, kernel, required, {(("first", 9), (kernel, 15)), ((kernel, 13),), ((kernel, 16),)})
    names = {chain[0][0] for chain in chains["second"] if len(chain) == 2}
    check(names == {"_Z11second_leafPKfi"}, f"{architecture}: {names}")
    check({tuple(line for _, line in chain) for chain in chains["second"] if len(chain) == 2} == {(4, 10)}, "second")
    return count


def check_triton(compiler):
    source, cubin = compiler.write("triton.ptx", TRITON), compiler.path("triton.cubin")
    subprocess.run([compiler.ptxas, "-lineinfo", "-arch", "sm_80", source, "-o", cubin], check=True)
    chains, count = compiler.compare(cubin)
    required = {(("add", 256), ("sum", 267), ("add_kernel", 14)), (("sum", 277), ("add_kernel", 15)), (("add_kernel", 16),),
                (("add_kernel", 12),)}
    check_chains(chains, "add_kernel", required, {(("add_kernel", line),) for line in (10, 14, 15)})
    _, frames = compiler.ask(cubin, [("add_kernel", offset) for offset in range(0, 256, 16)])
    files = {name: file for chain in frames for name, file, _ in chain}
    library = "/usr/lib/python3/site-packages/triton/language/standard.py"
    check(files == {"add": library, "sum": library, "add_kernel": "/home/u/add_kernel.py"}, f"files: {files}")
    return count


def check_large(compiler):
    """CUB's templates: names of kilobytes, chains of many frames, files of many directories."""
    source = compiler.write("sorting.cu", SORTING)
    chains, count = compiler.compare(
        compiler.compile("sorting.cubin", "-cubin", f"-arch={compiler.architectures[-1]}", "-lineinfo", source))
    deepest = max(len(chain) for function in chains.values() for chain in function)
    check(deepest >= 6, f"CUB's deepest chain has {deepest} frames")
    return count, deepest


def main():
    compiler = Compiler(*sys.argv[1:])
    version = subprocess.run([compiler.nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    try:
        counts = [check_kernels(compiler), check_triton(compiler)]
        counts += [check_linked(compiler, architecture) for architecture in compiler.architectures[1:3]]
        check_without_lines(compiler)
        large, deepest = check_large(compiler)
    except Fault as fault:
        print(fault)
        return 1
    print(f"nvcc {re.search(r'release ([0-9.]+)', version).group(1)}, {' '.join(compiler.architectures)}: "
          f"{sum(counts) + large} instructions compared, {large} of them CUB's with up to {deepest} frames")
    return 0


if __name__ == "__main__":
    sys.exit(main())
