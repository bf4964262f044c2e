"""The disk on which a node keeps its profile: one of KINDS.

    plain      a directory
    small      a file system of its own that fill() fills, and free() makes room on again (root)
    slow       each fsync() takes 200 ms (slow_disk.c)
    missing    a directory that is not there
    read-only  a directory in which nobody can write: a file system of its own (root)

File systems are mounted in the mount namespace of this process, which must be its own (own_mounts()), so that they are
gone with it."""
import errno
import os
import shutil
import subprocess
import sys

KINDS = ('plain', 'small', 'slow', 'missing', 'read-only')
OF_ROOT = ('small', 'read-only')
FILLING = 'filling'  # the file that fills a disk
PIECE = bytes(1 << 16)


def own_mounts():
    """Starts this program again in a mount namespace of its own, unless it is in one. For root alone."""
    if os.environ.get('FLAMEGRID_OWN_MOUNTS') != '1':
        os.environ['FLAMEGRID_OWN_MOUNTS'] = '1'
        os.execvp('unshare', ['unshare', '--mount', sys.executable, *sys.argv])


class NodeDisk:
    def __init__(self, build, kind, path, small_bytes=8 << 20):
        self.kind, self.path = kind, path
        self.environment = {'LD_PRELOAD': os.path.join(build, 'lib/libslow_disk.so')} if kind == 'slow' else {}
        self.is_full = False
        if kind != 'missing':
            os.mkdir(path, 0o700)
        if kind in OF_ROOT:
            options = f'size={small_bytes},mode=0700' + (',ro' if kind == 'read-only' else '')
            subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'flamegrid-test', path], check=True)

    def keeps_profiles(self):
        return self.kind in ('plain', 'small', 'slow')

    def _filling(self):
        return os.path.join(self.path, FILLING)

    def fill(self):
        """Several fillings are one."""
        self.is_full = True
        with open(self._filling(), 'ab', buffering=0) as file:
            try:
                while True:
                    file.write(PIECE)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self):
        if self.is_full:
            os.unlink(self._filling())
        self.is_full = False

    def profiles(self):
        """What is left of nodes' profiles."""
        return [name for name in os.listdir(self.path) if name != FILLING] if self.keeps_profiles() else []

    def close(self):
        """Unmounts it. What was on it lies in the directory then."""
        if self.kind not in OF_ROOT:
            return
        kept = self.path + '.kept'
        shutil.copytree(self.path, kept, ignore=shutil.ignore_patterns(FILLING))
        subprocess.run(['umount', '--lazy', self.path], check=True)
        self.kind = 'plain'
        os.rmdir(self.path)
        os.rename(kept, self.path)
