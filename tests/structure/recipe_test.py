"""recipe_test.py SOURCE: Spack's recipe depends on each library and tool that bootstrap installs to build."""

import os
import re
import sys

# What Spack calls the packages of Debian. None: its compilers, or a part of them.
SPACK = {
    "gcc": "c", "g++": "cxx", "make": None, "cmake": "cmake", "pkg-config": "pkgconfig", "libc6-dev": None, "binutils": None,
    "file": None, "libzmq3-dev": "libzmq", "libmsgpack-c-dev": "msgpack-c", "libhwloc-dev": "hwloc", "libsqlite3-dev": "sqlite",
    "libelf-dev": "elfutils", "libdw-dev": "elfutils", "liblzma-dev": "xz", "zlib1g-dev": "zlib-api",
    "libmicrohttpd-dev": "libmicrohttpd", "libncurses-dev": "ncurses",
    "libcurl4-openssl-dev": "curl", "clang": "llvm", "bpftool": "bpftool", "libbpf-dev": "libbpf",
}
OWN = {"slurm"}  # of a variant that bootstrap does not build


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def main(root):
    packages = re.search(r"^build_packages='(.*?)'", read(root, "bootstrap"), re.M | re.S).group(1).split()
    named = re.findall(r'depends_on\("([a-z0-9-]+)', read(root, "deploy/spack/flamegrid/package.py"))
    installed = {package.partition("|")[0] for package in packages}
    failed = [f"bootstrap: {package} has no name of Spack in this test" for package in sorted(installed - set(SPACK))]
    failed += [f"bootstrap: no longer installs {package}, which this test names" for package in sorted(set(SPACK) - installed)]
    wanted = {SPACK.get(package) for package in installed} - {None}
    failed += [f"deploy/spack/flamegrid/package.py: does not depend on {name}" for name in sorted(wanted - set(named))]
    failed += [f"deploy/spack/flamegrid/package.py: depends on {name}, which bootstrap does not install"
               for name in sorted(set(named) - wanted - OWN)]
    print("\n".join(failed) if failed else f"{len(wanted)} packages")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
