"""Compares the plane of stalls with what stall_plants.cu plants.

   stall_check.py SOURCE FOLDED JSON STORE

FOLDED is the plane as folded text in ns, JSON the report, STORE the profile's store. Prints a line for each plant and for
the sums. Exit status: 1 if one is wrong."""
import json
import re
import sqlite3
import sys

source, folded, report, store = sys.argv[1:]
wrong = False


def check(held, text):
    global wrong
    print('%s %s' % ('ok     ' if held else 'NOT OK ', text))
    wrong = wrong or not held


plants = {}
for number, line in enumerate(open(source), 1):
    if match := re.search(r'// plant: (\w+) (.*)$', line):
        plants[match[1]] = (number, match[2])
sums, total = {}, 0
for line in open(folded):
    stack, ns = line.rstrip('\n').rsplit(' ', 1)
    total += int(ns)
    frames = stack.split(';')
    kernel = next((f for f in frames if f.startswith('[GPU')), '')
    name = re.match(r'\[GPU\d+_Kernel\](\w+)', kernel)
    if name:
        place = [f for f in frames[frames.index(kernel) + 1:] if not f.startswith('[stall]')]
        of = sums.setdefault(name[1], {})
        key = (tuple(place), frames[-1].removeprefix('[stall]').removeprefix('≈'))
        of[key] = of.get(key, 0) + int(ns)
for kernel, (number, reason) in plants.items():
    of = {key: ns for key, ns in sums.get(kernel, {}).items() if key[1] != 'not sampled'}
    place, seen = max(of, key=of.get) if of else ((), 'nothing')
    lines = [int(f.rsplit(':', 1)[1]) for f in place if f.startswith('stall_plants.cu:')]
    chain = kernel != 'inlined' or [f.split(':')[1].split('(')[0] for f in place[1:]] == ['middle', 'leaf']
    check(number in lines and seen == reason and chain, '%s: %s %s' % (kernel, ';'.join(place), seen))
report = json.load(open(report))
planes = {plane['plane']: plane for plane in report['planes']}
kernels_ns = report['totals']['kernel_ns']
check(total == planes['stalls']['ns'] == kernels_ns, 'the plane has %d ns, the kernels %d' % (total, kernels_ns))
count = dict(sqlite3.connect(store).execute('select reason, sum(count) from ledger where reason between 70 and 72 group by 1'))
taken, others, lost = (count.get(reason, 0) for reason in (70, 71, 72)) # proto/ledger.h
shown = planes['stalls']['count']
check(taken == shown + others + lost and taken > 0, 'samples %d = shown %d + others %d + lost %d' % (taken, shown, others, lost))
sys.exit(wrong)
