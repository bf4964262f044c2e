# Runs a file like those that PyTorch's Inductor generates, which launches kernels through the driver API, and leaves what
# Inductor's cache would keep of it. Arguments: the cache's directory, what is there of it (graph, traces, none, missing,
# foreign, huge, rewritten), how many times the file is run.
import ctypes
import os
import pickle
import sys

PTX = b'''.version 7.0
.target sm_70
.address_size 64
// flamegrid-fake-ns: 1000
.visible .entry fused()
{
	ret;
}
// flamegrid-fake-ns: 2000
.visible .entry product()
{
	ret;
}
'''
KEY = 'c' + 'abcdefghijklmnopqrstuvwxyz234567' + 'abcdefghijklmnopqrs'
CODE = """# Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.relu, aten.add]
# Source node to ATen node mapping:
#   x => relu
#   y => add
# Graph fragment:
#   %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%mm,))
#   %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%relu, 1))
fused_0 = async_compile.triton('fused_0', '''
# nothing
''')


def call(args):
    # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.mm]
    # [Provenance debug handles] extern_kernels.mm:1
    extern_kernels.mm(args, args, out=buf0)
    # Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.relu, aten.add]
    # [Provenance debug handles] fused_0:2
    fused_0.run(args)
    # Topologically Sorted Source Nodes: [z], Original ATen: [aten.relu, aten.add]
    # [Provenance debug handles] fused_0:3
    fused_0.run(args)
"""
GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8]"):
        # File: /home/user/model.py:57 in forward, code: x = self.linear(x)
        mm: "f32[8]" = torch.ops.aten.mm.default(arg0_1, arg0_1)
        # File: /home/user/model.py:58 in forward, code: x = torch.relu(x)
        relu: "f32[8]" = torch.ops.aten.relu.default(mm)
        # File: /home/user/model.py:60 in loss, code: y = x + 1
        add: "f32[8]" = torch.ops.aten.add.Tensor(relu, 1)
"""
TRACES = """{"extern_kernels.mm:1": ["  File \\"/home/user/model.py\\", line 67, in forward\\n    x\\n"],
"fused_0:2": ["  File \\"/home/user/model.py\\", line 68, in forward\\n    x\\n", "  File \\"/home/user/model.py\\", line 70, in loss\\n"],
"fused_0:3": ["  File \\"/home/user/model.py\\", line 71, in loss\\n    z\\n"]}"""


class CompiledFxGraph:
    pass


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(data)


def leave_cache(cache, what):
    graph = CompiledFxGraph()
    graph.current_callable = graph.recursively_apply_fns = graph.compiled_fn_runner = None
    graph.cache_key = KEY
    graph.source_code = CODE
    graph.runnable_graph_str = '#' * 100000
    graph.inductor_post_grad_graph_str = GRAPH
    graph.inductor_provenance_mapping_str = None
    graph.inductor_provenance_stack_traces_str = TRACES if what == 'traces' else None
    if what != 'none':
        write('%s/fxgraph/xy/fxyz/abc' % cache, pickle.dumps(graph))
    for i in range(20):
        graph.cache_key = KEY[:-1] + chr(ord('a') + i % 10)
        graph.inductor_post_grad_graph_str = '# File: /home/user/other.py:1 in f, code: x\n'
        write('%s/fxgraph/%02d/f%02dz/abc' % (cache, i, i), pickle.dumps(graph))


def spoil(path, what):
    if what == 'missing':
        os.remove(path)
    elif what == 'foreign':
        os.chown(path, 12345, 12345)
    elif what == 'huge':
        os.truncate(path, 1 << 33)
    elif what == 'rewritten':
        write(path, b'# Topologically Sorted Source Nodes: [\xff\x00' * 1000)


def check(result):
    if result:
        raise SystemExit('CUDA error %d' % result)


class Kernel:
    def __init__(self, cuda, module, name):
        self.cuda, self.function = cuda, ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, name))

    def run(self, *args, **kwargs):
        check(self.cuda.cuLaunchKernel(self.function, 1, 1, 1, 1, 1, 1, 0, None, None, None))

    mm = run


class Compiler:
    def __init__(self, kernel):
        self.kernel = kernel

    def triton(self, name, text):
        return self.kernel


def main(cache, what, count):
    cuda, context, module, device = ctypes.CDLL('libcuda.so.1'), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    path = '%s/%s/%s.py' % (cache, KEY[1:3], KEY)
    write(path, CODE.encode())
    leave_cache(cache, what)
    names = {'async_compile': Compiler(Kernel(cuda, module, b'fused')), 'buf0': 0,
             'extern_kernels': Kernel(cuda, module, b'product')}
    exec(compile(CODE, path, 'exec'), names)
    spoil(path, what)
    for _ in range(count):
        names['call'](0)
    check(cuda.cuCtxSynchronize())


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
