# Data-parallel training of which the last rank may be late: PLANT is none, host (slower code), loader (a slow wait) or gpu (slower kernels).
import os, time, torch, torch.distributed as dist
plant, steps = os.environ.get("PLANT", "none"), 300
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
late = rank == size - 1
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(10)]).cuda())
optimizer, batch = torch.optim.AdamW(model.parameters()), torch.randn(256, 1024, device="cuda")
matrix = torch.randn(2048, 2048, device="cuda")

def fetch_batch():
    time.sleep(0.006 if late and plant == "loader" else 0.002)
    return batch

def augment(ms):
    end = time.perf_counter() + ms / 1000
    while time.perf_counter() < end:
        pass

def multiply(times):
    for _ in range(times):
        torch.mm(matrix, matrix)

def step():
    data = fetch_batch()
    augment(8 if late and plant == "host" else 4)
    multiply(30 if late and plant == "gpu" else 6)
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()

for _ in range(steps):
    step()
print("  rank %d done" % rank, flush=True)
dist.destroy_process_group()
