"""Launches kernels from Python, marked by the package flamegrid. Argument: how many steps."""
import ctypes
import functools
import os
import sys
import threading

import flamegrid

PTX = b'''.version 7.0
.target sm_70
.address_size 64
''' + b''.join(b'// flamegrid-fake-ns: 1000\n.visible .entry %s()\n{\n\tret;\n}\n' % name for name in (
    b'in_step', b'in_forward', b'in_decorated', b'in_thread', b'in_nothing', b'in_window'))

cuda = ctypes.CDLL('libcuda.so.1')
module = ctypes.c_void_p()


def launch(name):
    kernel = ctypes.c_void_p()
    result = cuda.cuModuleGetFunction(ctypes.byref(kernel), module, name)
    result = result or cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    if result:
        raise SystemExit('CUDA error %d' % result)


@flamegrid.range('decorated')
def decorated(name):
    launch(name)
    return len(name)


def in_thread(number):
    cuda.cuCtxSetCurrent(context)
    with flamegrid.range('thread %d' % number):
        launch(b'in_thread')


def fails(error, function, *arguments):
    try:
        function(*arguments)
    except error:
        return
    raise SystemExit('%r took %r' % (function, arguments))


def generator():
    yield 1


flamegrid.start()  # before CUDA starts
context = ctypes.c_void_p()
device = ctypes.c_int()
assert not cuda.cuInit(0) and not cuda.cuDeviceGet(ctypes.byref(device), 0)
assert not cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
assert not cuda.cuModuleLoadData(ctypes.byref(module), PTX)

for step in range(int(sys.argv[1])):
    flamegrid.step()
    launch(b'in_step')
    with flamegrid.range('forward'):
        launch(b'in_forward')
with flamegrid.step():
    assert decorated(b'in_decorated') == 12
    assert decorated.__name__ == 'decorated'
try:
    with flamegrid.range('raises'):
        raise KeyError
except KeyError:
    pass
launch(b'in_nothing')
threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
flamegrid.stop()

fails(TypeError, flamegrid.range, b'bytes')
fails(TypeError, flamegrid.range('g'), generator)
fails(TypeError, flamegrid.range('g'), functools.partial(generator))
fails(TypeError, flamegrid.range('g'), staticmethod(generator))
fails(TypeError, flamegrid.range('g'), functools.wraps(generator)(lambda: generator()))
fails(TypeError, flamegrid.range('g'), None)
fails(TypeError, flamegrid.name_stream, 'stream', 'name')
flamegrid.name_stream(0, 'no stream')
child = os.fork()
if child == 0:
    with flamegrid.range('child'):
        flamegrid.step()
    flamegrid.stop()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert not cuda.cuCtxSynchronize()
print('done')
