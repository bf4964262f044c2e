"""A data-parallel training of SECONDS (default: 60) that marks its steps. Halfway the last rank saves its state, once, and
all others wait for it. Rank 0 prints the number of that step."""
import os, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.environ["FLAMEGRID"])), "share/flamegrid/python"))
import flamegrid, torch, torch.distributed as dist

seconds = float(os.environ.get("SECONDS_LONG", "60"))
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(10)]).cuda())
optimizer, batch = torch.optim.AdamW(model.parameters()), torch.randn(1024, 2048, device="cuda")


def save_state(path):
    end = time.monotonic() + 1.8
    while time.monotonic() < end:
        torch.save(model.state_dict(), path)
    os.unlink(path)


def train(number, saves):
    flamegrid.step()
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    if saves and rank == size - 1:
        save_state(os.environ.get("TMPDIR", "/tmp") + "/worst_train.state")
    return loss.item()


number, begin, saved = 1, time.monotonic(), 0
plan = torch.zeros(2, device="cuda")  # whether all go on, and whether this step saves: rank 0 decides
while True:
    now = time.monotonic() - begin
    if number % 20 == 1:
        plan[0], plan[1] = now < seconds, not saved and now > seconds / 2
        dist.broadcast(plan, 0)
        goes_on, saves = plan.tolist()
        if not goes_on:
            break
    train(number, bool(saves) and not saved)
    if saves and not saved:
        saved = number
    number += 1
flamegrid.step_end()
torch.cuda.synchronize()
if rank == 0:
    print("saved %d steps %d" % (saved, number - 1), flush=True)
dist.destroy_process_group()
