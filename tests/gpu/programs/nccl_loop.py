# NCCL calls whose waits are known. PLANT is none (a loop of all-reduces alone), late (the last rank's GPU is busy before each), or
# pair (rank 0 sends to rank 1, whose GPU is busy before it receives). Each rank prints what it knows, by its GPU's own events.
import os, sys, torch, torch.distributed as dist
plant = os.environ.get("PLANT", "none")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
data = torch.zeros((256 if plant == "none" else 64) << 18, device="cuda")  # MiB of floats
busy_cycles = 10_000_000  # some 5 ms

# In one piece, since the ranks share the output.
def say(what, value):
    sys.stdout.write("rank %d %s %s\n" % (rank, what, value))
    sys.stdout.flush()

def elapsed_ns(marks):
    torch.cuda.synchronize()
    return sum(round(begin.elapsed_time(end) * 1e6) for begin, end in marks)

def mark():
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event

def warm_up():
    for _ in range(5):
        dist.all_reduce(data)
    if plant == "pair" and rank < 2:
        dist.send(data, 1) if rank == 0 else dist.recv(data, 0)
    torch.cuda.synchronize()

def timed_loop(times):
    begin = mark()
    for _ in range(times):
        dist.all_reduce(data)
    ns = elapsed_ns([(begin, mark())])
    bytes_each = data.numel() * data.element_size()
    say("bus_gbs", "%.3f" % (2 * (size - 1) / size * bytes_each * times / ns))

def late_loop(times, late, call):
    marks = []
    for _ in range(times):
        if rank == late:
            begin = mark()
            torch.cuda._sleep(busy_cycles)
            marks.append((begin, mark()))
        call()
    say("late_ns", elapsed_ns(marks))

warm_up()
if plant == "none":
    timed_loop(200)
elif plant == "late":
    late_loop(60, size - 1, lambda: dist.all_reduce(data))
elif rank < 2:
    late_loop(60, 1, lambda: dist.send(data, 1) if rank == 0 else dist.recv(data, 0))
dist.destroy_process_group()
