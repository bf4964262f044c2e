# Says how much of a compiled model's GPU time stands under lines of backward_train.py that Inductor's frames have behind
# them. Arguments: name, folded stacks in ns, the share in per cent that is wanted. Exits with 1 if it is less, or if a
# line is none of the model's.
import collections
import re
import sys

GENERATED = re.compile(r'c[a-z2-7]{51}\.py:')
LINE = re.compile(r'backward_train\.py:(\w+):(\d+)$')
MODEL = ('forward', 'attend')
name, folded, wanted = sys.argv[1:4]
total = compiled = lined = marked = 0
several, missing, foreign = 0, collections.Counter(), collections.Counter()
for text in open(folded):
    path, weight = text.rstrip('\n').rsplit(' ', 1)
    frames, weight = path.split(';'), int(weight)
    total += weight
    at = [i for i, frame in enumerate(frames) if GENERATED.match(frame)]
    if not at or '[GPU' not in frames[-1]:
        continue
    compiled += weight
    behind = frames[at[-1] + 1]
    lines = behind.removesuffix(' ≈').split(', ')
    if not LINE.match(lines[0]):
        missing[frames[-1]] += weight
        continue
    lined += weight
    marked += weight if behind.endswith(' ≈') else 0
    several += weight if len(lines) > 1 else 0
    for line in lines:
        match = LINE.match(line)
        if line != '...' and (not match or match.group(1) not in MODEL):
            foreign[line] += weight
share = lambda part, whole: 100 * part / whole if whole else 0
print('%s: %.2f %% of the GPU time is compiled; of it %.2f %% under lines of the model, %.2f %% marked, %.2f %% of several lines' % (
    name, share(compiled, total), share(lined, compiled), share(marked, compiled), share(several, compiled)))
for leaf, weight in missing.most_common(8):
    print('    without a line: %.2f %% %s' % (share(weight, compiled), leaf))
for line, weight in foreign.most_common(8):
    print('    WRONG: %s' % line)
sys.exit(bool(foreign) or compiled == 0 or share(lined, compiled) < float(wanted))
