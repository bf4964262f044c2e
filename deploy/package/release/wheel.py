"""The wheel: the Python package (api/python) with the tree below it, and scripts that start the tree's programs.

It keeps no links, so that a library is there once, by the name that the loader looks for. The programs bring their own C
library, and the guest takes glibc 2.17. The tag says 2.34, as the program takes that which `flamegrid demo` profiles.
"""
import base64
import hashlib
import os
import stat
import time as clock
import zipfile
from tree import Entry, Tree

TAG = "py3-none-manylinux_2_34_x86_64"
PYTHON = "share/flamegrid/python"
START = """#!python
import importlib.util, os, sys
package = importlib.util.find_spec("flamegrid").submodule_search_locations[0]
path = os.path.join(os.path.abspath(package), "tree", "bin", "{name}")
os.execv(path, [path] + sys.argv[1:])
"""
METADATA = """Metadata-Version: 2.1
Name: flamegrid
Version: {version}
Summary: GPU flame graphs of whole cluster jobs
License: Apache-2.0
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""


def without_links(tree: Tree) -> Tree:
    """Each link becomes the file that it leads to; files that only links named are left out."""
    reached, targets = {}, set()
    for path, entry in tree.items():
        place = path
        while tree[place].link is not None:
            place = os.path.normpath(os.path.join(os.path.dirname(place), tree[place].link))
        if place != path:
            targets.add(place)
        reached[path] = tree[place]
    return {path: entry for path, entry in reached.items() if path not in targets}


def contents(tree: Tree, version: str) -> Tree:
    info, data = f"flamegrid-{version}.dist-info", f"flamegrid-{version}.data"
    files = {}
    for path, entry in without_links(tree).items():
        if path.startswith(f"{PYTHON}/flamegrid/"):
            files[path[len(PYTHON) + 1:]] = entry
        elif not path.startswith(PYTHON):
            files[f"flamegrid/tree/{path}"] = entry
    for path, entry in tree.items():
        if path.startswith("bin/"):
            name = os.path.basename(path)
            files[f"{data}/scripts/{name}"] = Entry(0o755, START.format(name=name).encode())
        elif path.startswith("share/man/"): # `man` looks beside the folders of PATH
            files[f"{data}/data/{path}"] = entry
    readme = tree["share/flamegrid/README.md"].data.decode()
    files[f"{info}/METADATA"] = Entry(0o644, METADATA.format(version=version, readme=readme).encode())
    files[f"{info}/WHEEL"] = Entry(0o644, f"Wheel-Version: 1.0\nGenerator: flamegrid\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode())
    files[f"{info}/LICENSE"] = tree["share/flamegrid/LICENSE"]
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).decode().rstrip('=')},{len(entry.data)}\n"
        for path, entry in sorted(files.items()))
    files[f"{info}/RECORD"] = Entry(0o644, (record + f"{info}/RECORD,,\n").encode())
    return files


def write_wheel(tree: Tree, version: str, time: int, folder: str) -> str:
    path = os.path.join(folder, f"flamegrid-{version}-{TAG}.whl")
    files = contents(tree, version)
    # The archive's records come last.
    order = sorted(files, key=lambda name: (".dist-info/" in name, name))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in order:
            member = zipfile.ZipInfo(name, clock.gmtime(time)[:6])
            member.external_attr = (stat.S_IFREG | files[name].mode) << 16
            member.create_system = 3  # Unix
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, files[name].data)
    return path
