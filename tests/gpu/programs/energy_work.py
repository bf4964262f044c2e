"""12 s of matrix products, 6 s of nothing, 12 s of additions in memory, 6 s of products."""
import time, torch

square = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
vector = torch.randn(1 << 28, device="cuda")


def work(function, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        function()
        torch.cuda.synchronize()


def multiply():
    square @ square


def add():
    vector.add_(0.001)


work(multiply, 12)
time.sleep(6)
work(add, 12)
work(multiply, 6)
