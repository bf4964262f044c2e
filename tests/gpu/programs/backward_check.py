# Compares the forward lines of backward kernels with autograd's own word. Arguments: name, folded stacks in ns, truth.
# Prints shares of the GPU time; exits with 1 if an unmarked line is wrong.
import collections
import json
import re
import sys

SCRIPT = 'backward_train.py:'
name, folded, truth = sys.argv[1:4]
known = {(node if re.search(r'Backward\d+$', node) else 'PyNode', line) for node, line in json.load(open(truth))}
total = own = forward = marked = right = wrong_marked = unknown = 0
wrong, homeless, near = collections.Counter(), collections.Counter(), collections.Counter()
for text in open(folded):
    path, weight = text.rstrip('\n').rsplit(' ', 1)
    frames, weight = path.split(';'), int(weight)
    total += weight
    if any(frame.startswith(SCRIPT) for frame in frames):
        own += weight
    else:
        homeless[frames[0] if '[backward]' in frames[0] else ';'.join(frames[:3])] += weight
    at = [i for i, frame in enumerate(frames) if frame.startswith('[backward] ')]
    if not at:
        continue
    node = frames[at[0]][len('[backward] '):]
    lines = [frame.rsplit(':', 1)[1] for frame in frames[:at[0]] if frame.startswith(SCRIPT)]
    if not lines or node == 'AccumulateGrad':
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
    elif unproven and known:
        wrong_marked += weight
    elif (operation, 0) in known:
        unknown += weight  # autograd does not tell who made the derivative of a derivative
    elif known:
        wrong[pair] += weight
share = lambda part, whole: '%.2f %%' % (100 * part / whole if whole else 0)
print('%s: %s of the GPU time under a line of the script; backward under forward lines %s, of it marked %s, marked and wrong %s, not to be checked %s' % (
    name, share(own, total), share(forward, total), share(marked, forward), share(wrong_marked, forward), share(unknown, forward)))
for what, weight in homeless.most_common(4):
    print('    without a line: %s %s' % (share(weight, total), what))
for pair, weight in near.most_common(4):
    print('    marked: %s at line %d, %s' % (*pair, share(weight, total)))
for pair, weight in wrong.most_common(8):
    print('    WRONG: %s at line %d, %s' % (*pair, share(weight, total)))
sys.exit(bool(wrong))
