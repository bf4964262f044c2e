# Compares the forward lines of backward kernels with autograd's own word. Arguments: name, folded stacks in ns, truth,
# the share of the GPU time in per cent that must have no mark (0 if it is left out). Prints shares of the GPU time. Exits
# with 1 if an unmarked line is wrong, or too much is marked; with 2 if autograd could not be asked.
import collections
import json
import re
import sys

LINE = re.compile(r'backward_train\.py:[^:]+:(\d+)$')
CALLER = re.compile(r'torch/autograd/(__init__|graph)\.py:(_engine_run_backward|backward|grad):\d+$')
name, folded, truth = sys.argv[1:4]
wanted = float(sys.argv[4]) if len(sys.argv) > 4 else 0
try:
    told = json.load(open(truth))
except (OSError, ValueError) as error:
    told = {'nodes': [], 'failed': 'no truth: %s' % error}
known = {(node, line) for node, line in told['nodes']}
total = own = forward = called = marked = right = wrong_marked = unknown = 0
wrong, homeless, near = collections.Counter(), collections.Counter(), collections.Counter()
for text in open(folded):
    path, weight = text.rstrip('\n').rsplit(' ', 1)
    frames, weight = path.split(';'), int(weight)
    total += weight
    if any(frame.startswith('backward_train.py:') for frame in frames):
        own += weight
    else:
        homeless[frames[0] if '[backward]' in frames[0] else ';'.join(frames[:3])] += weight
    at = [i for i, frame in enumerate(frames) if frame.startswith('[backward] ')]
    if not at:
        continue
    node = frames[at[0]][len('[backward] '):]
    lines = [match.group(1) for match in map(LINE.match, frames[:at[0]]) if match]
    if not lines or node == 'AccumulateGrad':
        continue
    if CALLER.match(frames[at[0] - 1]):  # no forward operation is known, and none is claimed
        called += weight
        continue
    unproven = node.endswith(' ≈')
    operation = node.removesuffix(' ≈')
    pair = (operation, int(lines[-1]))
    forward += weight
    if unproven:
        marked += weight
        near[pair] += weight
    if pair in known:
        right += weight
    elif told['failed']:
        unknown += weight
    elif unproven:
        wrong_marked += weight
    elif (operation, 0) in known:
        unknown += weight  # autograd does not tell which line made it
    else:
        wrong[pair] += weight
share = lambda part, whole: '%.2f %%' % (100 * part / whole if whole else 0)
unmarked = 100 * (total - marked) / total if total else 0
print('%s: %s of the GPU time under a line of the script, %.2f %% without a mark; backward under forward lines %s, under the call of backward() %s' % (
    name, share(own, total), unmarked, share(forward, total), share(called, total)))
print('%s: of the part under forward lines right %s, marked %s, marked and wrong %s, not to be checked %s, wrong %s' % (
    name, share(right, forward), share(marked, forward), share(wrong_marked, forward), share(unknown, forward),
    share(sum(wrong.values()), forward)))
for what, weight in homeless.most_common(4):
    print('    without a line: %s %s' % (share(weight, total), what))
for pair, weight in near.most_common(4):
    print('    marked: %s at line %d, %s' % (*pair, share(weight, total)))
for pair, weight in wrong.most_common(8):
    print('    WRONG: %s at line %d, %s' % (*pair, share(weight, total)))
if told['failed']:
    print('%s: NOT COMPARED with autograd: %s' % (name, told['failed']))
elif forward == 0:
    print('%s: NOT COMPARED with autograd: no backward work has a forward line' % name)
if wrong or unmarked < wanted:
    sys.exit(1)
sys.exit(2 if told['failed'] or forward == 0 else 0)
