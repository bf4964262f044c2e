"""Compares measured ranges with what metrics_work.py says of its work.

   ranges_check.py JSON OUTPUT

JSON is the report, OUTPUT what the program printed. Prints a line for each check. Exit status: 1 if one is wrong."""
import json
import sys

report, output = json.load(open(sys.argv[1])), dict(line.split() for line in open(sys.argv[2]))
wrong = False


def check(held, text):
    global wrong
    print('%s %s' % ('ok     ' if held else 'NOT OK ', text))
    wrong = wrong or not held


def check_near(name, what, value, expected):
    check(abs(value / expected - 1) <= 0.02, '%s: %s %.0f, expected %d (%+.2f %%)' % (name, what, value, expected, 100 * (value / expected - 1)))


rows = {row['kernel']: row for row in report.get('kernel_metrics', []) if row['range']}
values = {name: {metric['name']: metric['mean'] for metric in row['metrics']} for name, row in rows.items()}
for name in 'step', 'tiny', 'backward':
    check(name in rows and rows[name]['measured'] > 0, '%s is measured: %d times, %d passes' %
          ((name, rows[name]['measured'], rows[name]['passes']) if name in rows else (name, 0, 0)))
if not wrong:
    kernels = {name: of['range__kernels.sum'] for name, of in values.items()}
    check(kernels['tiny'] == 100, 'tiny has %g kernels, expected 100' % kernels['tiny'])
    check(kernels['step'] >= 102, 'step has %g kernels, expected 102 or a few more' % kernels['step'])
    flops, each = 'sm__ops_path_tensor_src_bf16_dst_fp32.sum', int(output['flops'])
    check_near('step', 'FLOPs', values['step'][flops], each)
    # The product, and one for the gradient of its first operand, which alone has one.
    check_near('backward', 'FLOPs', values['backward'][flops], 2 * each)
    check(values['tiny'][flops] == 0, 'tiny has %g FLOPs of tensor cores' % values['tiny'][flops])
    moved = values['step']['dram__bytes_read.sum'] + values['step']['dram__bytes_write.sum']
    check(moved >= 0.98 * int(output['bytes']), 'step: %.0f bytes of DRAM, at least those of the addition, %d' % (moved, int(output['bytes'])))
    for name, row in sorted(rows.items()):
        print('        %s: %.3f ms, %g kernels' % (name, row['measured_ns'] / row['measured'] / row['passes'] / 1e6, kernels[name]))
ledger = {row['reason']: row['count'] for row in report['ledger']}
check(ledger.get('metric_lost', 0) == 0, 'no measured range is lost')
print('        dropped because of other work: %d; refused: %d' % (ledger.get('metric_shared', 0), ledger.get('metric_refused', 0)))
sys.exit(wrong)
