"""The packages of a system, which deb.py and rpm.py write: their texts, and where they have the files of the tree.

They hold the relocatable tree in /usr/lib/flamegrid, with all libraries, for two reasons. One package fits Debian 12 and 13,
whose msgpack-c and elfutils go by different names. And a node needs no other package, so that it installs without a mirror.
"""
import os
import re
from typing import NamedTuple
from tree import Entry, Tree, gzip_of

HOME = "usr/lib/flamegrid"
UNITS = "usr/lib/systemd/system"
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "debian")
DEV = re.compile(r"include/|lib/(pkgconfig|cmake)/")
SUMMARY = "GPU flame graphs of whole cluster jobs"


class Package(NamedTuple):
    name: str
    summary: str
    text: str
    fields: dict
    tree: Tree


def read_source(name: str) -> bytes:
    with open(os.path.join(SOURCES, name), "rb") as file:
        return file.read()


def system_text(entry: Entry) -> Entry:
    """A file that names /opt/flamegrid, for an installation in /usr/lib."""
    return entry._replace(data=entry.data.replace(b"/opt/flamegrid/share/", b"/usr/share/").replace(b"/opt/flamegrid", f"/{HOME}".encode()))


def place(path: str, entry: Entry):
    """Where a file of the tree belongs in Debian, and what it is there. None: nowhere."""
    name = os.path.basename(path)
    if path.startswith("share/man/"):
        return f"usr/{path}.gz", entry._replace(data=gzip_of(entry.data, 9))
    if path.startswith("share/zsh/"):
        return f"usr/share/zsh/vendor-completions/{name}", entry
    if path.startswith(("share/bash-completion/", "share/fish/")):
        return f"usr/{path}", entry
    if path.startswith("share/licenses/"):
        return f"usr/share/doc/flamegrid/licenses/{name}", entry
    if path.startswith("share/flamegrid/systemd/"):
        return f"{UNITS}/{name}" if name.endswith(".service") else f"etc/flamegrid/{name}", system_text(entry)
    if path == "share/flamegrid/LICENSE":
        return None  # the file copyright has it
    if re.match("share/flamegrid/(docs/|proto/|[^/]*$)", path):
        return "usr/share/doc/flamegrid/" + path.removeprefix("share/flamegrid/"), entry
    if path.startswith("share/"):  # the manifest names paths in the image
        return f"usr/{path}", entry if name == "flamegrid-agent.yaml" else system_text(entry)
    return f"{HOME}/{path}", entry


def split(tree: Tree) -> dict:
    """The trees of the packages, by their names' ends."""
    parts = {"": {}, "-inject": {}, "-slurm": {}, "-dev": {}}
    for path, entry in tree.items():
        if path.startswith("share/modulefiles/"):
            continue  # for installations that are not the system's
        if path == "lib/libflamegrid_inject.so":
            parts["-inject"][f"{HOME}/{path}"] = entry
        elif path.startswith("lib/slurm/"):
            parts["-slurm"][f"{HOME}/{path}"] = entry
        elif path == "share/flamegrid/slurm/plugstack.conf":
            parts["-slurm"]["etc/slurm/plugstack.conf.d/flamegrid.conf"] = system_text(entry)
        elif DEV.match(path):
            # What depends on no architecture is there for all of them.
            parts["-dev"]["usr/" + path.replace("lib/pkgconfig", "share/pkgconfig")] = entry
        else:
            placed = place(path, entry)
            if placed:
                parts[""][placed[0]] = placed[1]
    if f"{HOME}/lib/slurm/flamegrid.so" not in parts["-slurm"]:
        parts["-slurm"] = {}
    main = parts[""]
    for path in tree:
        if path.startswith("bin/"):
            main[f"usr/{path}"] = Entry(0o777, link=f"../lib/flamegrid/{path}")
    main["usr/lib/sysusers.d/flamegrid.conf"] = Entry(0o644, read_source("sysusers.conf"))
    main["usr/lib/tmpfiles.d/flamegrid.conf"] = Entry(0o644, read_source("tmpfiles.conf"))
    return parts


def packages_of(tree: Tree, version: str, slurm: str) -> list:
    parts = split(tree)
    same = f"(= {version})"
    wanted = [
        Package("flamegrid", SUMMARY,
                "Put one command in front of a GPU job and get one flame graph of it. Every nanosecond of GPU time stands under the"
                " host code that launched it, by host, rank, GPU and stream.",
                {"Section": "devel", "Depends": f"flamegrid-inject {same}, libc6 (>= 2.34)", "Suggests": "systemd"}, parts[""]),
        Package("flamegrid-inject", "library that Flamegrid loads into profiled programs",
                "CUDA's driver loads this library into programs that run under Flamegrid. It takes glibc 2.17 and nothing else.",
                {"Section": "libs", "Depends": "libc6 (>= 2.17)"}, parts["-inject"]),
        Package("flamegrid-slurm", "srun --flamegrid: Flamegrid's plugin for Slurm",
                f"Adds the option --flamegrid to srun and sbatch. Plugins belong to one major release of Slurm; this one to {slurm}.",
                {"Section": "admin", "Depends": f"flamegrid {same}, libc6 (>= 2.34)", "Enhances": "slurm-client",
                 "Breaks": f"slurm-client (<< {slurm}~), slurm-client (>= {next_release(slurm)}~)"}, parts["-slurm"]),
        Package("flamegrid-dev", "headers for programs that work with Flamegrid",
                "Headers by which a program tells Flamegrid about its own work.",
                {"Section": "devel"}, parts["-dev"]),
    ]
    return [package for package in wanted if package.tree]


def next_release(slurm: str) -> str:
    """The version behind all of this major release: 22.05 gives 22.06."""
    year, _, month = slurm.partition(".")
    return f"{year}.{int(month) + 1:02}" if month else slurm
