# What origins cost in a training step, within one process. Arguments: path of libflamegrid_inject.so, pairs of blocks.
# The guest cannot switch origins. So this program writes the state "refused" (enum autograd_state) into its memory for
# every second block of steps, and "ready" for the others. A pair of blocks has both, in turns of order. Prints a line
# for each model, and its last word is what origins add to a step, in per cent.
import ctypes
import statistics
import struct
import subprocess
import sys
import time

import torch
from torch import nn

READY, REFUSED = 1, 2
FUNCTIONS = ('_ZN2at15sequence_number4peekEv', '_ZN2at14RecordFunction15currentThreadIdEv',
             '_ZN3c108GradMode10is_enabledEv', '_ZN5torch8autograd25get_current_graph_task_idEv',
             '_ZN5torch8autograd16get_current_nodeEv')


def mapped(name):
    for line in open('/proc/self/maps'):
        if line.rstrip().endswith('/' + name):
            return int(line.split('-')[0], 16), line.split()[-1]
    raise SystemExit('%s is not in this process' % name)


# struct autograd_origin: the ring, the functions of libtorch, the loader's counter, the state.
def find_state(guest_path):
    base, _ = mapped('libflamegrid_inject.so')
    torch_cpu = ctypes.CDLL(mapped('libtorch_cpu.so')[1])
    wanted = [ctypes.cast(getattr(torch_cpu, name), ctypes.c_void_p).value for name in FUNCTIONS]
    memory = open('/proc/self/mem', 'rb', buffering=0)
    symbols = subprocess.run(['nm', '-S', guest_path], capture_output=True, text=True, check=True).stdout
    for line in symbols.splitlines():
        words = line.split()
        if len(words) != 4 or words[2] != 'b' or words[3] != 'guest':
            continue
        memory.seek(base + int(words[0], 16))
        for address, in struct.iter_unpack('Q', memory.read(int(words[1], 16) // 8 * 8)):
            try:
                memory.seek(address)
                found = struct.unpack('8Q', memory.read(64))
            except (OSError, OverflowError, ValueError, struct.error):
                continue
            if list(found[1:6]) == wanted:
                return ctypes.c_int.from_address(address + 56)
    raise SystemExit('the guest has no origins')


def small():
    model, x = nn.Sequential(*[nn.Linear(256, 256) for _ in range(20)]).cuda(), torch.randn(64, 256, device='cuda')
    return model, lambda: model(x).square().mean()


def transformer():
    layer = nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 6).cuda(), torch.randn(16, 512, 1024, device='cuda')
    return model, lambda: model(x).square().mean()


def measure(name, make, state, pairs, steps):
    model, loss = make()
    optimizer = torch.optim.AdamW(model.parameters())

    def block(value):
        state.value = value
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / steps

    for _ in range(4):
        block(READY)
    took = {READY: [], REFUSED: []}
    for pair in range(pairs):
        for value in (READY, REFUSED) if pair % 2 else (REFUSED, READY):
            took[value].append(block(value))
    state.value = READY
    ratios = sorted(on / off for on, off in zip(took[READY], took[REFUSED]))
    middle = statistics.median(ratios)
    # The median's bounds by order statistics, 95 %.
    reach = int(0.98 * pairs ** 0.5) + 1
    low, high = ratios[max(pairs // 2 - reach, 0)], ratios[min(pairs // 2 + reach, pairs - 1)]
    print('%s: %d pairs of %d steps' % (name, pairs, steps), end=', ')
    print('a step without origins %.1f us, with them %.1f us; %+.2f to %+.2f %%, median %+.2f' % (
        statistics.median(took[REFUSED]) * 1e6, statistics.median(took[READY]) * 1e6,
        100 * (low - 1), 100 * (high - 1), 100 * (middle - 1)))


# CUDA loads the guest, which finds PyTorch a little later.
def warm_up():
    model, loss = small()
    for _ in range(200):
        loss().backward()
    origins = find_state(sys.argv[1])
    for _ in range(20000):
        if origins.value == READY:
            return origins
        loss().backward()
    raise SystemExit('origins are not ready: state %d' % origins.value)


origins = warm_up()
measure('small', small, origins, 20 * int(sys.argv[2]), 2)
measure('transformer', transformer, origins, int(sys.argv[2]), 4)
