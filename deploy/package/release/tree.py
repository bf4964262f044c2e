"""The installed tree in memory: what each kind of package is made of.

A tree is a dictionary of paths without a leading slash. Its entries have a mode and either data or a link's target.
Directories are implied. Packages made of equal trees and with equal times are equal, byte for byte.
"""
import gzip
import io
import os
import stat
import tarfile
from typing import Dict, NamedTuple, Optional


class Entry(NamedTuple):
    mode: int
    data: bytes = b""
    link: Optional[str] = None


Tree = Dict[str, Entry]


def mode_of(name: str, mode: int) -> int:
    """For all to read. For all to execute if the owner can; libraries are not, apart from the loader."""
    is_library = ".so" in name and not name.startswith("ld-")
    return 0o755 if mode & 0o100 and not is_library else 0o644


def read_tree(root: str) -> Tree:
    """Reads all files below root."""
    tree = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            inner = os.path.relpath(path, root)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                tree[inner] = Entry(0o777, link=os.readlink(path))
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    tree[inner] = Entry(mode_of(name, mode), file.read())
            else:
                raise ValueError(f"{path}: neither a file nor a link")
    return dict(sorted(tree.items()))


def write_tree(tree: Tree, root: str, time: int) -> None:
    """Lays the tree out below root, with this time on everything."""
    for path, entry in tree.items():
        place = os.path.join(root, path)
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        if entry.link is not None:
            os.symlink(entry.link, place)
        else:
            with open(place, "wb") as file:
                file.write(entry.data)
            os.chmod(place, entry.mode)
        os.utime(place, (time, time), follow_symlinks=False)
    for folder, _, _ in os.walk(root, topdown=False):
        os.chmod(folder, 0o755)
        os.utime(folder, (time, time))


def below(tree: Tree, folder: str) -> Tree:
    return {f"{folder}/{path}": entry for path, entry in tree.items()}


def folders_of(tree: Tree) -> list:
    """The directories that the tree implies, parents first."""
    found = set()
    for path in tree:
        while path := os.path.dirname(path):
            found.add(path)
    return sorted(found)


def tar_of(tree: Tree, time: int) -> bytes:
    """A tar archive, sorted, of user and group 0."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        def add(path, mode, kind, data=b"", link=""):
            member = tarfile.TarInfo(path)
            member.mode, member.mtime, member.type, member.linkname = mode, time, kind, link
            member.uname = member.gname = "root"
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

        entries = {folder: None for folder in folders_of(tree)}
        entries.update(tree)
        for path in sorted(entries):
            entry = entries[path]
            if entry is None:
                add(path, 0o755, tarfile.DIRTYPE)
            elif entry.link is not None:
                add(path, entry.mode, tarfile.SYMTYPE, link=entry.link)
            else:
                add(path, entry.mode, tarfile.REGTYPE, entry.data)
    return out.getvalue()


def gzip_of(data: bytes, level: int = 6) -> bytes:
    """gzip -n: neither a name nor a time."""
    return gzip.compress(data, level, mtime=0)
