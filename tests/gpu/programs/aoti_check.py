# Compares the lines of an AOTInductor package's kernels with what the package itself says of them
# (kernel_information.json). Arguments: folded stacks in ns, the package. Exits with 1 if a line is wrong, or less than
# 95 % of the time under serve() stands under lines of the model.
import json
import re
import sys
import zipfile

LINE = re.compile(r'aoti_serve\.py:(\w+):(\d+)')
CALL = re.compile(r'File "[^"]*aoti_serve\.py", line (\d+), in (\w+)')
package = zipfile.ZipFile(sys.argv[2])
(name,) = [name for name in package.namelist() if name.endswith('kernel_information.json')]
told = {}
for kernel, information in json.loads(package.read(name)).items():
    lines = [CALL.findall(trace)[-1] for trace in information['stack_traces'] if CALL.search(trace)]
    told.setdefault(kernel.split(':')[0], set()).add(frozenset((function, line) for line, function in lines))
libraries = set().union(*(sets for kernel, sets in told.items() if kernel.startswith('aoti_')))
total = under = wrong = 0
for text in open(sys.argv[1]):
    path, ns = text.rstrip('\n').rsplit(' ', 1)
    frames = path.split(';')
    at = [i for i, frame in enumerate(frames) if frame.startswith('aoti_serve.py:serve:')]
    if not at:
        continue
    total += int(ns)
    lines = [frame for frame in frames[at[-1] + 1:-1] if LINE.match(frame)]
    if not lines:
        print('no line:', frames[-1], ns)
        continue
    under += int(ns)
    kernel = frames[-1].split(']', 1)[1]
    # Kernels of Triton have names in the list; those of libraries are named after PyTorch's function there.
    known = told.get(kernel, set() if kernel.startswith('triton_') else libraries)
    if frozenset(LINE.findall(lines[-1])) not in known:
        wrong += int(ns)
        print('wrong:', frames[-1], lines[-1])
print('%d kernels in the package; of %d ns %.2f %% under lines of the model, %.2f %% under wrong ones' % (
    len(told), total, 100 * under / max(total, 1), 100 * wrong / max(total, 1)))
sys.exit(not total or wrong > 0 or under < 0.95 * total)
