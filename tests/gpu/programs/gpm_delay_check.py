"""How much earlier GPM's counters were what NVML tells: gpm_delay_check.py OFTEN SELDOM, two outputs of gpm_delay.

OFTEN has several readings between two copies of the counters, SELDOM one a second."""
import math
import sys


def load(path):
    rows = [line.split() for line in open(path)]
    on = [(float(row[1]), float(row[2])) for row in rows if row[0] == "on"]
    readings = [(float(row[1]), float(row[2]), float(row[3]) / 100) for row in rows if row[0] == "gpm"]
    first, last = on[0][0] + 1, on[-1][1] - 0.5
    return on, [reading for reading in readings if reading[0] > first and reading[1] < last]


def share(on, begin, end):
    return sum(max(0, min(end, b) - max(begin, a)) for a, b in on) / (end - begin)


def missed(on, readings, delay):
    """The root mean square of what values differ by from the kernels' time so much earlier."""
    squares = [(value - share(on, begin - delay, end - delay)) ** 2 for begin, end, value in readings]
    return math.sqrt(sum(squares) / len(squares))


def best(on, readings):
    return min((missed(on, readings, ms / 1e3), ms) for ms in range(0, 400, 5))


on, readings = load(sys.argv[1])
copies = [(end, value) for _, end, value in readings if value > 0]


def gathered(period):
    """1: all copies come at multiples of a period."""
    return math.hypot(sum(math.cos(2 * math.pi * at / period) for at, _ in copies),
                      sum(math.sin(2 * math.pi * at / period) for at, _ in copies)) / len(copies)


period = max((tenths / 1e4 for tenths in range(900, 1100)), key=gathered)
error, delay = best(on, [(at - period, at, value) for at, value in copies])
print("copies each %.1f ms; at first sight %d ms old, error %.3f" % (period * 1e3, delay, error))
on, readings = load(sys.argv[2])
error, delay = best(on, readings)
print("read seldom: error %.4f as read, %.4f as of %d ms before" % (missed(on, readings, 0), error, delay))
held = 95 <= period * 1e3 <= 105 and 80 <= delay <= 200 and error < 0.02
print("%s a reading is 80 to 200 ms old, and copies are 100 ms apart" % ("ok     " if held else "NOT OK "))
sys.exit(not held)
