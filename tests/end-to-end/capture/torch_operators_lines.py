# Compares the lines of backward work with the truth of torch_operators.py. Arguments: a folded report of counts, the
# truth. Prints for each class of nodes "CLASS KIND VERDICT COUNT", and to stderr each wrong line:
#   exact    the forward line is right, and not marked
#   right    the same, but marked
#   near     another line, marked
#   caller   the call of backward()
#   wrong    another line, not marked
import collections
import json
import re
import sys

PYTHON = re.compile(r'^(.*\.py):(.*):(\d+)$')
TRACEBACK = re.compile(r'File "([^"]*)", line (\d+), in (.*)')


def frame(path, function, line):
    return path.rpartition('/')[2], function.rpartition('.')[2], int(line)


def made(text):
    """The frames that made a node, without those of PyTorch's own way to call a function or to list frames."""
    found = [(path, frame(path, function, line)) for path, line, function in TRACEBACK.findall(text)]
    while found and re.search(r'torch/(fx/traceback|autograd/function)\.py$', found[-1][0]):
        found.pop()
    return [what for _, what in found]


def verdict(frames, node):
    marks = [i for i, text in enumerate(frames) if text.startswith('[backward]')]
    python = [match.groups() for match in map(PYTHON.match, frames[:marks[0]] if marks else frames) if match]
    if python and re.match(r'torch/autograd/(__init__|graph)\.py$', python[-1][0]):
        return 'caller'
    if not marks:
        return 'wrong'
    name, near = re.match(r'\[backward\] (.*?)( ≈)?$', frames[marks[0]]).groups()
    right = name == node['class'] and [frame(*each) for each in python] == made(node['frames'])
    return ('right' if right else 'near') if near else 'exact' if right else 'wrong'


def main(report, truth):
    with open(truth) as file:
        nodes = {node['kernel']: node for node in json.load(file)['nodes']}
    sums = collections.Counter()
    for line in open(report):
        text, _, count = line.rpartition(' ')
        frames = text.split(';')
        node = nodes.get(frames[-1].partition(']')[2])
        if node:
            found = verdict(frames, node)
            sums[node['class'], node['kind'], found] += int(count)
            if found == 'wrong':
                print(node['class'], node['kind'], text, made(node['frames']), file=sys.stderr)
    for key, count in sorted(sums.items()):
        print(*key, count)


main(*sys.argv[1:])
