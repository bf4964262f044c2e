# Data-parallel training in which rank LATE (default: the last) is late by PLANT: none, host (4 ms more of tokenize_batch()),
# loader (5 ms more sleep in load_shard()), kernels (slower ones), garbage (a collection every 50 steps),
# pinned (one CPU for its process, beside a busy loop), or worker (one of its DataLoader's two workers is slow).
# FROM and TO: between these steps alone. STEPS: how many there are.
import ctypes, gc, os, signal, sys, time, torch, torch.distributed as dist

plant, steps = os.environ.get("PLANT", "none"), int(os.environ.get("STEPS", "300"))
first, end = int(os.environ.get("FROM", "0")), int(os.environ.get("TO", str(steps)))
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
late = plant if rank == int(os.environ.get("LATE", str(size - 1))) else "none"
# A heap like that of a program with many objects: what a collection has to visit.
heap = [[i] for i in range(2_000_000)] if plant == "garbage" else []


def stay_busy(cpu):
    """Uses a CPU until this process ends."""
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        os.sched_setaffinity(0, {cpu})
        while True:
            pass


class Shards(torch.utils.data.Dataset):
    def __len__(self):
        return steps + 8

    def __getitem__(self, index):
        is_slow = late == "worker" and torch.utils.data.get_worker_info().id == 0
        time.sleep(0.060 if is_slow else 0.002)
        return index


def load_shard(slow):
    time.sleep(0.007 if slow else 0.002)


def tokenize_batch(slow):
    end = time.perf_counter() + (0.008 if slow else 0.004)
    while time.perf_counter() < end:
        pass


def multiply(slow):
    for _ in range(6):
        torch.mm(matrix, large if slow and late == "kernels" else matrix)


def collect_garbage():
    gc.collect()


if late == "pinned":
    cpu = max(os.sched_getaffinity(0))
    stay_busy(cpu)
    os.sched_setaffinity(0, {cpu})
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
batches = iter(torch.utils.data.DataLoader(Shards(), batch_size=None, num_workers=2)) if plant == "worker" else None
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(10)]).cuda())
optimizer, batch = torch.optim.AdamW(model.parameters()), torch.randn(256, 1024, device="cuda")
matrix, large = torch.randn(2048, 2048, device="cuda"), torch.randn(2048, 16384, device="cuda")
gc.disable()


def next_batch(slow):
    if batches:
        next(batches)
    load_shard(slow and late == "loader")
    tokenize_batch(slow and late == "host")
    return batch


def step(i):
    slow = first <= i < end
    data = next_batch(slow)
    multiply(slow)
    if slow and late == "garbage" and i % 50 == 49:
        collect_garbage()
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


times = []
for i in range(steps):
    begin = time.time()
    if rank == 0 and i in (first, end):
        print("step %d at %.3f" % (i, begin), flush=True)
    step(i)
    times.append(time.time() - begin)
if rank == 0:
    inside, outside = times[first:end], times[20:first] + times[end:]
    for name, those in ("planted", inside), ("without", outside):
        print("ms a step, %s: %s" % (name, "%.3f" % (1e3 * sum(those) / len(those)) if those else "-"), flush=True)
dist.barrier()
print("  rank %d done" % rank, flush=True)
sys.stdout.flush()
dist.destroy_process_group()
