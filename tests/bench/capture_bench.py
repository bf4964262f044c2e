# Usage: python3 capture_bench.py libcapture_bench.so [NATIVE [PYTHON]]: one capture below about NATIVE C frames (20) and
# PYTHON Python frames (10). With PyTorch in the process, also what the numbers of its operations cost.
import ctypes
import sys

try:
    import torch  # noqa: F401
except ImportError:
    pass

library = ctypes.CDLL(sys.argv[1])
native = int(sys.argv[2]) if len(sys.argv) > 2 else 20
python = int(sys.argv[3]) if len(sys.argv) > 3 else 10


def nest(levels):
    return nest(levels - 1) if levels else library.capture_bench(native)


print('CPython', sys.version.split()[0], flush=True)
sys.exit(nest(python - 2))
