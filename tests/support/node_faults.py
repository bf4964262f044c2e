"""The faults of a round: what happens to which nodes, from when to when. A seed draws them all before the round begins.

    kill    job         the aggregator's process, which is started again
            aggregator  and all that would start it again on its node
            agent       a node's flamegrid-node, with its ranks running on
            node        all processes of a node at once; its connections end
    lose    node        the same without a word to anybody: its network goes first (root)
    stop    job, aggregator, agent, node: SIGSTOP, then SIGCONT
    cut     aggregator, node: no packet reaches or leaves its node for a while (root)
    part    some nodes reach each other and no other node for a while (root)
    fill    node: the disk of its profile is full, for a while or until the end (root)
            output: that of the job's profile (root)"""
import dataclasses

FOR_GOOD = ('kill', 'lose')
LONGEST_LATE_S = 4.0  # how long faults last that are there at the end of the ranks


@dataclasses.dataclass
class Fault:
    at: float
    kind: str
    part: str  # '': the nodes
    nodes: tuple = ()
    until: float = None  # None: for good

    def __str__(self):
        where = ' '.join(filter(None, (self.part if self.part != 'node' else '', ','.join(map(str, self.nodes)))))
        return f'{self.kind} {where} {self.at:.1f}-' + ('' if self.until is None else f'{self.until:.1f}')


CHOICES = (
    ('kill', 'job', 2), ('kill', 'aggregator', 2), ('kill', 'agent', 1), ('kill', 'node', 2), ('lose', 'node', 2),
    ('stop', 'job', 1), ('stop', 'aggregator', 1), ('stop', 'agent', 1), ('stop', 'node', 2),
    ('cut', 'aggregator', 3), ('cut', 'node', 3), ('part', '', 3), ('fill', 'node', 4),
    ('fill', 'output', 2))
OF_ROOT = ('lose', 'cut', 'part', 'fill')


class FaultPlan:
    """seconds: from the beginning to the time at which the ranks go on to their end. lasting: how long each fault lasts
    that passes; None: each as long as its seed says."""

    def __init__(self, random, nr_nodes, seconds, lasting=None):
        self.random, self.nr_nodes, self.seconds, self.lasting = random, nr_nodes, seconds, lasting

    def disks(self, kinds):
        """The kind of each node's disk: nearly all are plain."""
        disks = ['plain'] * self.nr_nodes
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 3))):
            disks[self.random.randrange(self.nr_nodes)] = self.random.choice(kinds)
        return disks

    def faults(self, disks, is_root):
        small = [node for node, kind in enumerate(disks) if kind == 'small']
        choices = [(kind, part, weight) for kind, part, weight in CHOICES if (is_root or kind not in OF_ROOT) and
                   (small or (kind, part) != ('fill', 'node'))]
        drawn = self.random.choices(choices, [weight for _, _, weight in choices],
                                    k=self.random.choice((1, 1, 2, 2, 3, 4)))
        return sorted((self._fault(kind, part, small) for kind, part, _ in drawn), key=lambda fault: fault.at)

    def _fault(self, kind, part, small):
        draw = self.random
        nodes = ()
        if kind == 'part':
            nodes = tuple(sorted(draw.sample(range(self.nr_nodes), draw.randint(1, self.nr_nodes // 2))))
        elif kind == 'fill' and part == 'node':
            nodes = (draw.choice(small),)
        elif part in ('agent', 'node'):
            nodes = (draw.randrange(self.nr_nodes),)
        # One in four is there while the ranks end.
        is_late = draw.random() < 0.25
        at = draw.uniform(self.seconds - 2.0, self.seconds + 0.5) if is_late else draw.uniform(0, self.seconds)
        lasts = draw.uniform(0.3, LONGEST_LATE_S) if is_late else draw.uniform(0, self.seconds)
        if self.lasting:
            lasts = self.lasting
        is_for_good = kind in FOR_GOOD or (kind == 'fill' and draw.random() < 0.5)
        return Fault(at, kind, part, nodes, None if is_for_good else at + lasts)
