"""Nodes with a network each: a network namespace, joined to the others by bridges in one more namespace. Needs root.

    with NodeNetwork(8) as network:
        subprocess.Popen(network.command(3) + ['program'])
        network.set_cuts({3}, {4, 5})

All namespaces are anonymous and held by descriptors of this process alone. So they are gone with it and with the
processes in them, however those end, and no two networks share a name. One thread at a time may use a network."""
import concurrent.futures
import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
WHOLE, ASIDE = 'whole', 'aside'  # the bridges: of all nodes, and of those that a partition has put aside


def new_namespace():
    """A descriptor of a new network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)

    def make():
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), 'no network namespace can be made')
        return os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)

    with concurrent.futures.ThreadPoolExecutor(1) as thread:  # unshare() moves the calling thread alone
        return thread.submit(make).result()


class NodeNetwork:
    def __init__(self, nr_nodes):
        self.hub, self.nodes = new_namespace(), [new_namespace() for _ in range(nr_nodes)]
        self.bridges = [WHOLE] * nr_nodes
        self._ip(self.hub, *(line for bridge in (WHOLE, ASIDE)
                             for line in (f'link add {bridge} type bridge', f'link set {bridge} up')))
        self._ip(self.hub, *(line for node, namespace in enumerate(self.nodes) for line in (
            f'link add v{node} type veth peer name eth0 netns {self._path(namespace)}',
            f'link set v{node} master {WHOLE} up')))
        for node, namespace in enumerate(self.nodes):
            self._ip(namespace, f'addr add 10.213.0.{node + 1}/24 dev eth0', 'link set eth0 up', 'link set lo up')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def _path(namespace):
        return f'/proc/{os.getpid()}/fd/{namespace}'

    def _ip(self, namespace, *lines):
        subprocess.run(['nsenter', f'--net={self._path(namespace)}', 'ip', '-batch', '-'], check=True,
                       input='\n'.join(lines).encode())

    def command(self, node):
        """The words before a command that is to run on this node."""
        return ['nsenter', f'--net={self._path(self.nodes[node])}']

    def set_cuts(self, alone, aside):
        """From now on no packet reaches or leaves the nodes `alone`. Those `aside` reach each other and no other node.
        All others reach each other. Nobody is told: interfaces stay up, and connections stay open."""
        changes = []
        for node, before in enumerate(self.bridges):
            now = None if node in alone else ASIDE if node in aside else WHOLE
            if now != before:
                self.bridges[node] = now
                changes.append(f'link set v{node} ' + (f'master {now}' if now else 'nomaster'))
        if changes:
            self._ip(self.hub, *changes)

    def close(self):
        for namespace in (self.hub, *self.nodes):
            os.close(namespace)
        self.nodes = []
