"""The RPM packages: the same files in the same places as Debian's, by rpmbuild."""
import os
import re
import subprocess
import tempfile
from layout import Package, packages_of
from tree import Tree, write_tree

SPEC = """%global _build_id_links none
%global __os_install_post %{{nil}}
%global __strip /bin/true
%global debug_package %{{nil}}
%global _buildhost reproducible
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global source_date_epoch_from_changelog 0
%global _binary_payload w6.gzdio
Name: flamegrid
Version: {version}
Release: 1
Summary: GPU flame graphs of whole cluster jobs
License: Apache-2.0
AutoReqProv: no
{main}
{others}
%install
cp -a {root}/. %{{buildroot}}/
"""
SCRIPTS = """%post
command -v systemd-sysusers >/dev/null && systemd-sysusers flamegrid.conf
command -v systemd-tmpfiles >/dev/null && systemd-tmpfiles --create flamegrid.conf
[ ! -d /run/systemd/system ] || systemctl daemon-reload || :
[ $1 -lt 2 ] || [ ! -d /run/systemd/system ] || systemctl try-restart flamegrid-agent flamegrid-aggregator || :
:
%preun
[ $1 -ne 0 ] || [ ! -d /run/systemd/system ] || systemctl disable --now flamegrid-agent flamegrid-aggregator || :
"""


def path_of(path: str) -> str:
    """Where Fedora and its relatives have what Debian has elsewhere."""
    return path.replace("usr/share/zsh/vendor-completions/", "usr/share/zsh/site-functions/")


def requires_of(package: Package) -> str:
    """What Debian's package depends on, by the names of RPM."""
    depends = package.fields.get("Depends", "").replace("libc6", "glibc")
    return f"Requires: {re.sub('[()]', '', depends)}\n" if depends else ""


def files_of(package: Package, own: list) -> str:
    lines = [f"%dir \"/{folder}\"" for folder in own]
    for path in package.tree:
        lines.append(("%config(noreplace) " if path.startswith("etc/") else "") + f"\"/{path_of(path)}\"")
    return "\n".join(lines) + "\n"


def own_folders(package: Package) -> list:
    """The directories that no other package has."""
    found = set()
    for path in package.tree:
        folder = os.path.dirname(path_of(path))
        while folder:
            if "flamegrid" in folder:
                found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found)


def write_packages(tree: Tree, version: str, time: int, folder: str, slurm: str) -> list:
    packages = packages_of(tree, version, slurm)
    others = ""
    for package in packages[1:]:
        end = package.name.removeprefix("flamegrid-")
        others += f"%package {end}\nSummary: {package.summary}\nAutoReqProv: no\n"
        others += requires_of(package)
        others += f"%description {end}\n{package.text}\n%files {end}\n{files_of(package, own_folders(package))}"
    main = (f"{requires_of(packages[0])}%description\n{packages[0].text}\n{SCRIPTS}"
            f"%files\n{files_of(packages[0], own_folders(packages[0]))}")
    with tempfile.TemporaryDirectory() as top:
        root = os.path.join(top, "root")
        files = {path_of(path): entry for package in packages for path, entry in package.tree.items()}
        write_tree(dict(sorted(files.items())), root, time)
        spec = os.path.join(top, "flamegrid.spec")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(SPEC.format(version=version, root=root, main=main, others=others))
        done = subprocess.run(["rpmbuild", "-bb", "--quiet", "--target", "x86_64-linux", "--define", f"_topdir {top}/top",
                               "--define", f"_rpmdir {top}/out", spec], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)})
        if done.returncode:
            raise RuntimeError(f"rpmbuild failed:\n{done.stdout[-3000:]}")
        paths = []
        for made in sorted(os.listdir(f"{top}/out/x86_64")):
            paths.append(os.path.join(folder, made))
            with open(f"{top}/out/x86_64/{made}", "rb") as source, open(paths[-1], "wb") as target:
                target.write(source.read())
    return paths
