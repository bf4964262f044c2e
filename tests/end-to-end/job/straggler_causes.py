# A training of several ranks on fake NCCL, each a process: imports that take longer on one rank, and a planted delay in
# one of its functions. Arguments: ranks, steps, the late rank, and the plant: tokens, shard or kernels.
import ctypes
import os
import sys
import time

ranks, steps, late, plant = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rank = int(os.environ.get('RANK', -1))
PTX = b'''.version 7.0
.target sm_70
.address_size 64
// flamegrid-fake-ns: %d
.visible .entry forward_kernel()
{
	ret;
}
''' % (2000000 + (15000000 if plant == 'kernels' and rank == late else 0))


class UniqueId(ctypes.Structure):
    _fields_ = [('internal', ctypes.c_char * 128)]


def check(result):
    if result:
        raise SystemExit('error %d' % result)


def import_modules():
    seconds = 0.8 if rank == late else 0.1
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(50))
    time.sleep(seconds)


def tokenize_batch(step):
    end = time.thread_time() + 0.001 + (0.004 if plant == 'tokens' and rank == late and step % 2 else 0)
    while time.thread_time() < end:
        sum(range(50))


def load_shard(step):
    time.sleep(0.002 + (0.005 if plant == 'shard' and rank == late else 0))


def wait_for_gpu(stream):
    check(runtime.cudaStreamSynchronize(stream))


def train_step(step, kernel, comm, stream):
    tokenize_batch(step)
    load_shard(step)
    check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None))
    wait_for_gpu(stream)
    check(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1000), 7, 0, comm, stream))


def train():
    module, kernel, context = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    stream, comm = ctypes.c_void_p(), ctypes.c_void_p()
    check(runtime.cudaSetDevice(rank))
    check(runtime.cudaStreamCreate(ctypes.byref(stream)))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b'forward_kernel'))
    check(nccl.ncclCommInitRank(ctypes.byref(comm), ranks, UniqueId(os.environ['CAUSES_ID'].encode()), rank))
    for step in range(steps):
        train_step(step, kernel, comm, stream)
    check(runtime.cudaStreamSynchronize(stream))
    check(nccl.ncclCommDestroy(comm))


def start_ranks():
    environment = dict(os.environ, CAUSES_ID='causes %d' % os.getpid(), WORLD_SIZE=str(ranks),
                       LOCAL_WORLD_SIZE=str(ranks), FAKE_CUDA_DEVICES=str(ranks))
    pids = [os.spawnve(os.P_NOWAIT, sys.executable, [sys.executable] + sys.argv,
                       dict(environment, RANK=str(i), LOCAL_RANK=str(i))) for i in range(ranks)]
    return max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)


if rank < 0:
    sys.exit(start_ranks())
cuda = ctypes.CDLL('libcuda.so.1')
runtime = ctypes.CDLL('libcudart.so.13')
nccl = ctypes.CDLL('libnccl.so.2')
import_modules()
train()
