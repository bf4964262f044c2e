"""The Debian packages: flamegrid, flamegrid-inject, flamegrid-slurm and, if the tree has its files, flamegrid-dev (layout.py)."""
import hashlib
import os
import subprocess
import tempfile
import textwrap
from datetime import datetime, timezone
from layout import SOURCES, Package, packages_of, read_source
from tree import Entry, Tree, below, folders_of, gzip_of, write_tree


def complete(package: Package, version: str, time: int) -> Tree:
    """The package's files with those that each Debian package has."""
    documents = f"usr/share/doc/{package.name}"
    date = datetime.fromtimestamp(time, timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    changelog = (f"flamegrid ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md in the package flamegrid.\n\n"
                 f" -- Flamegrid <flamegrid@localhost.localdomain>  {date}\n")
    tree = dict(package.tree)
    tree[f"{documents}/changelog.gz"] = Entry(0o644, gzip_of(changelog.encode(), 9))
    tree[f"{documents}/copyright"] = Entry(0o644, read_source("copyright"))
    overrides = os.path.join(SOURCES, f"{package.name}.lintian-overrides")
    if os.path.exists(overrides):
        tree[f"usr/share/lintian/overrides/{package.name}"] = Entry(0o644, read_source(os.path.basename(overrides)))
    return dict(sorted(tree.items()))


def control_of(package: Package, tree: Tree, version: str) -> Tree:
    size = sum(len(entry.data) for entry in tree.values()) // 1024 + len(folders_of(tree))
    fields = {"Package": package.name, "Source": "flamegrid", "Version": version, "Architecture": "amd64",
              "Maintainer": "Flamegrid <flamegrid@localhost.localdomain>", "Installed-Size": str(size), "Priority": "optional",
              "Multi-Arch": "foreign", **package.fields}
    if package.name == "flamegrid-dev":
        del fields["Multi-Arch"]
    if package.name == "flamegrid":
        del fields["Source"]
    text = "".join(f"{name}: {value}\n" for name, value in fields.items())
    text += f"Description: {package.summary}\n" + textwrap.indent("\n".join(textwrap.wrap(package.text, 78)), " ") + "\n"
    sums = "".join(f"{hashlib.md5(entry.data).hexdigest()}  {path}\n" for path, entry in tree.items() if entry.link is None)
    control = {"control": Entry(0o644, text.encode()), "md5sums": Entry(0o644, sums.encode())}
    settings = "".join(f"/{path}\n" for path in tree if path.startswith("etc/"))
    if settings:
        control["conffiles"] = Entry(0o644, settings.encode())
    if package.name == "flamegrid":
        for script in ("postinst", "prerm", "postrm"):
            control[script] = Entry(0o755, read_source(script))
    return control


def write_packages(tree: Tree, version: str, time: int, folder: str, slurm: str) -> list:
    """slurm: the major release whose plugin is in the tree. Returns the files' paths."""
    paths = []
    for package in packages_of(tree, version, slurm):
        files = complete(package, version, time)
        path = os.path.join(folder, f"{package.name}_{version}_amd64.deb")
        with tempfile.TemporaryDirectory() as root:
            write_tree({**files, **below(control_of(package, files, version), "DEBIAN")}, root, time)
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", root, path], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)})
        paths.append(path)
    return paths
