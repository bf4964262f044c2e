# Usage: python3 launch_lines.py BUILD/bench/launch_lines: what a warm launch touches, by valgrind's lackey. For the entry and
# the exit of a launch, and of a metered one: instructions, cache lines and pages of code by function, and lines of data.
import bisect
import collections
import re
import subprocess
import sys
import tempfile

LINE_BITS, PAGE_BITS = 6, 12
ACCESS = re.compile(r'(I | S| L| M) +([0-9a-f]+),(\d+)\n')


def symbols_of(program):
    lines = subprocess.run(['nm', '--defined-only', program], capture_output=True, text=True, check=True).stdout
    return sorted((int(line.split()[0], 16), line.split()[2]) for line in lines.splitlines())


def regions(path, begin, end):
    """Yields what lies between a store to begin and one to end: lists of (kind, address, size)."""
    accesses = None
    for line in open(path):
        match = ACCESS.fullmatch(line)
        if not match:
            continue
        kind, at, size = match[1].strip(), int(match[2], 16), int(match[3])
        if kind == 'S' and at == begin:
            accesses = []
        elif kind == 'S' and at == end and accesses is not None:
            yield accesses
            accesses = None
        elif accesses is not None:
            accesses.append((kind, at, size))


def lines(at, size):
    return {at >> LINE_BITS, (at + size - 1) >> LINE_BITS}


class Report:
    def __init__(self, program):
        self.symbols = symbols_of(program)
        self.addresses = [at for at, _ in self.symbols]
        self.end = self.addresses[-1]

    def name(self, at):
        below = bisect.bisect_right(self.addresses, at) - 1
        return self.symbols[below][1] if 0 <= below and at <= self.end else 'other libraries'

    def has(self, accesses, function):
        return any(kind == 'I' and self.name(at) == function for kind, at, _ in accesses)

    def write(self, title, accesses):
        code, data = {}, set()
        for kind, at, size in accesses:
            for line in lines(at, size):
                if kind == 'I':
                    code.setdefault(line, self.name(at))
                else:
                    data.add(line)
        pages = {line >> (PAGE_BITS - LINE_BITS) for line in code}
        print('%s: %d instructions, %d lines and %d pages of code, %d lines of data'
              % (title, sum(kind == 'I' for kind, _, _ in accesses), len(code), len(pages), len(data)))
        for function, number in collections.Counter(code.values()).most_common():
            print('  %3d %s' % (number, function))


def main():
    program = sys.argv[1]
    report = Report(program)
    address = {name: at for at, name in report.symbols}
    with tempfile.NamedTemporaryFile() as trace:
        subprocess.run(['valgrind', '--tool=lackey', '--trace-mem=yes', '--log-file=' + trace.name, program], check=True)
        found = list(regions(trace.name, address['launch_lines_begin'], address['launch_lines_end']))
    # Under valgrind a metered launch takes so long that the next one is metered, too. The thread's first call does other work.
    metered = next(i for i, accesses in enumerate(found) if i and report.has(accesses, 'launch_meter_turn'))
    for title, i in (('entry', metered - 2), ('exit', metered - 1), ('metered entry', metered), ('metered exit', metered + 1)):
        report.write(title, found[i])


main()
