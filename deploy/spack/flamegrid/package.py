# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe, for a site's own repository:

    spack repo create flamegrid-repo && cp -r deploy/spack/flamegrid flamegrid-repo/packages/
    spack repo add flamegrid-repo && spack dev-build flamegrid@0.1.0    (in the clone)

There is no download to name: it builds the clone in which `spack dev-build` is called.
"""
from spack.package import *


class Flamegrid(CMakePackage):
    """GPU flame graphs of whole cluster jobs."""


    license("Apache-2.0")

    version("0.1.0")

    variant("bpf", default=True, description="CPU samples and waits of host threads, through BPF")
    variant("slurm", default=False, description="Slurm's plugin: srun --flamegrid")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libzmq@4.3:")
    depends_on("msgpack-c")
    depends_on("hwloc@2:")
    depends_on("sqlite@3.37:")
    depends_on("elfutils@0.176:")
    depends_on("xz")
    depends_on("zlib-api")
    depends_on("libmicrohttpd")
    depends_on("ncurses@6:")
    depends_on("curl")
    depends_on("libbpf", when="+bpf")
    depends_on("bpftool", type="build", when="+bpf")
    depends_on("llvm+clang targets=bpf", type="build", when="+bpf")
    depends_on("slurm", when="+slurm")

    def cmake_args(self):
        args = [
            self.define("FLAMEGRID_TESTS", False),
            self.define_from_variant("FLAMEGRID_BPF", "bpf"),
            self.define_from_variant("FLAMEGRID_SPANK", "slurm"),
        ]
        if self.spec.satisfies("+slurm"):
            args.append(self.define("SLURM_INCLUDE", self.spec["slurm"].prefix.include))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_demo(self):
        with working_dir(self.stage.path):
            Executable(self.prefix.bin.flamegrid)("demo")
