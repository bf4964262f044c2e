# Training whose ranks have different work. KIND pipeline: each rank is a stage, and sends eight microbatches on and gradients
# back. KIND experts: each rank has an expert, and tokens go to it and back by an exchange of all ranks. PLANT late: the stage or
# expert of rank LATE has twice the work of the others; none.
import os, torch, torch.distributed as dist

kind, is_planted = os.environ.get("KIND", "pipeline"), os.environ.get("PLANT", "none") == "late"
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
late = int(os.environ.get("LATE", "1"))
work = 40 if is_planted and rank == late else 20
matrix = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)


def compute(data, times):
    for _ in range(times):
        data = torch.mm(data, matrix) * 0.01
    return data


def pipeline_step():
    kept = []
    for _ in range(8):
        data = torch.zeros(2048, 2048, device="cuda", dtype=torch.bfloat16)
        if rank > 0:
            dist.recv(data, rank - 1)
        data = compute(data, work)
        if rank < size - 1:
            dist.send(data, rank + 1)
        kept.append(data)
    for data in reversed(kept):
        gradient = torch.zeros_like(data)
        if rank < size - 1:
            dist.recv(gradient, rank + 1)
        gradient = compute(gradient, 2 * work)
        if rank > 0:
            dist.send(gradient, rank - 1)


def experts_step():
    # The expert of a late rank gets twice the tokens of another one.
    shares = [2 if is_planted and to == late else 1 for to in range(size)]
    sends = [4096 * share for share in shares]
    takes = [4096 * shares[rank]] * size
    tokens = torch.randn(sum(sends), 2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(4):
        routed = torch.empty(sum(takes), 2048, device="cuda", dtype=torch.bfloat16)
        dist.all_to_all_single(routed, tokens, takes, sends)
        routed = compute(routed, 20)
        back = torch.empty_like(tokens)
        dist.all_to_all_single(back, routed, sends, takes)
        tokens = back
    gradients = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(gradients)


for _ in range(60):
    pipeline_step() if kind == "pipeline" else experts_step()
    torch.cuda.synchronize()
print("  rank %d done" % rank, flush=True)
dist.destroy_process_group()
