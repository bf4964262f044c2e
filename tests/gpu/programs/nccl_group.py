# One thread that launches a collective of all GPUs as one NCCL group, without pause for SECONDS: half of a group waits for the
# other half. Prints the groups, and whether the sums are right.
import sys, time, torch
import torch.cuda.nccl as nccl
seconds = float(sys.argv[1])
gpus = torch.cuda.device_count()
parts = [torch.full((1 << 16,), float(gpu + 1), device='cuda:%d' % gpu) for gpu in range(gpus)]
sums = [torch.empty_like(part) for part in parts]
expected = gpus * (gpus + 1) / 2
begin, groups, right = time.perf_counter(), 0, True
while time.perf_counter() - begin < seconds:
    for _ in range(50):
        nccl.all_reduce(parts, sums)
    for gpu in range(gpus):
        torch.cuda.synchronize(gpu)
    groups += 50
right = all(bool((result == expected).all()) for result in sums)
print('groups', groups)
print('right', right)
