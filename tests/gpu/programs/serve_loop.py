"""The steps of an inference server without the server: prefill and mixed batches by single launches, decode by a CUDA
graph for each batch size, in NVTX ranges that are named as vLLM names them. The weights are read from memory at each
step, as a large model's are.

serve_loop.py [ROUNDS]   prints "kind KIND NS" for each kind, with _ for spaces: what CUDA's events say"""
import collections
import sys

import torch

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
SIZES, WIDTH, LAYERS = (32, 8, 1), 20480, 6
# Requests of context, their tokens, requests of generation. The last has no graph.
STEPS = ((4, 2048, 0), (0, 0, 1), (0, 0, 8), (2, 512, 6), (0, 0, 20), (0, 0, 100))

nvtx = torch.cuda.nvtx
torch.manual_seed(0)
weights = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) / WIDTH**0.5 for _ in range(LAYERS)]
TOKENS = (1, 8, 32, 100, 518, 2048)
inputs = {tokens: torch.randn(tokens, WIDTH, device="cuda", dtype=torch.bfloat16) for tokens in TOKENS}


def forward(x):
    for weight in weights:
        x = x @ weight
    return x


def capture(size):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        forward(inputs[size])
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with nvtx.range(f"capture_{size}_FULL"), torch.cuda.graph(graph):
        forward(inputs[size])
    return graph


def kind_of(context, generation):
    if context:
        return "mixed" if generation else "prefill"
    size = min((size for size in SIZES if size >= generation), default=0)
    most = 1 << (generation - 1).bit_length()
    return f"decode_{size}" if size else f"decode_{most // 2 + 1}-{most}"


@torch.inference_mode()
def step(context, tokens, generation, graphs):
    """Returns events around the step."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    size = 0 if context else min((size for size in SIZES if size >= generation), default=0)
    with nvtx.range(f"execute_context_{context}({tokens})_generation_{generation}({generation})"):
        begin.record()
        if size:
            graphs[size].replay()
        else:
            forward(inputs[tokens + generation])
        end.record()
    return begin, end


@torch.inference_mode()
def main():
    for x in inputs.values():
        forward(x)
    graphs = {size: capture(size) for size in SIZES}
    for size in SIZES:
        graphs[size].replay()
    torch.cuda.synchronize()
    spans = collections.defaultdict(list)
    for _ in range(ROUNDS):
        # The GPU starts when all steps are queued, so that no event waits for the host.
        torch.cuda._sleep(100_000_000)
        for context, tokens, generation in STEPS:
            spans[kind_of(context, generation)].append(step(context, tokens, generation, graphs))
        torch.cuda.synchronize()
    for kind, events in spans.items():
        print("kind", kind, round(sum(begin.elapsed_time(end) for begin, end in events) * 1e6))


main()
