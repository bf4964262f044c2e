# Compiles a model with AOTInductor, or runs the package. Arguments: compile or run, the package.
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm(x)
        y = F.gelu(self.up(y))
        y = self.down(y)
        return x + torch.softmax(y, 1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x * 2


def serve(run, x):
    for _ in range(50):
        run(x)
    torch.cuda.synchronize()


@torch.no_grad()
def main(what, package):
    x = torch.randn(256, 512, device='cuda')
    if what == 'compile':
        exported = torch.export.export(Model().cuda().eval(), (x,))
        torch._inductor.aoti_compile_and_package(exported, package_path=package, inductor_configs={
            'cpp.enable_kernel_profile': True, 'trace.provenance_tracking_level': 1})
        return
    serve(torch._inductor.aoti_load_package(package), x)


main(sys.argv[1], sys.argv[2])
