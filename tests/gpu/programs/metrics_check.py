"""Compares measured launches with what metrics_work.py says of its work.

   metrics_check.py JSON OUTPUT LAUNCHES

JSON is the report, OUTPUT what the program printed, LAUNCHES how many of each kernel were to be measured. Prints a line for each
check. Exit status: 1 if one is wrong."""
import json
import sys

report, output, launches = json.load(open(sys.argv[1])), dict(line.split() for line in open(sys.argv[2])), int(sys.argv[3])
wrong = False


def check(held, text):
    global wrong
    print('%s %s' % ('ok     ' if held else 'NOT OK ', text))
    wrong = wrong or not held


rows = report.get('kernel_metrics', [])
check(bool(rows), '%d measured kernels and stacks' % len(rows))


def row_of(function):
    """The row with the most time whose stack has a function."""
    of = [row for row in rows if ':%s:' % function in row['stack'] or ';%s' % function in row['stack']]
    return max(of, key=lambda row: row['ns']) if of else None


def values(row):
    return {metric['name']: metric['mean'] for metric in row['metrics']}


add, multiply = row_of('add'), row_of('multiply')
check(add is not None and multiply is not None, 'the addition and the product are measured')
if add and multiply:
    moved, expected = values(add)['dram__bytes_read.sum'] + values(add)['dram__bytes_write.sum'], int(output['bytes'])
    check(abs(moved / expected - 1) <= 0.02, 'addition: %.0f bytes of DRAM, expected %d (%+.2f %%)' %
          (moved, expected, 100 * (moved / expected - 1)))
    flops, expected = values(multiply)['sm__ops_path_tensor_src_bf16_dst_fp32.sum'], int(output['flops'])
    check(abs(flops / expected - 1) <= 0.02, 'product: %.0f FLOPs, expected %d (%+.2f %%)' %
          (flops, expected, 100 * (flops / expected - 1)))
    for name, row in ('addition', add), ('product', multiply):
        if row['bytes_peak_per_ns'] is not None and row['flops_peak_per_ns'] is not None:
            print('        %s: %.0f GB/s of %.0f, %.0f GFLOP/s of %.0f' % (
                name, row['bytes_per_ns'], row['bytes_peak_per_ns'], row['flops_per_ns'], row['flops_peak_per_ns']))
            check(row['bytes_per_ns'] <= 1.05 * row['bytes_peak_per_ns'], name + ': no more bytes than the peak')
            check(row['flops_per_ns'] <= 1.05 * row['flops_peak_per_ns'], name + ': no more FLOPs than the peak')
        check(1 <= row['measured'] <= launches, '%s: %d measured of %d' % (name, row['measured'], launches))
lost = {row['reason']: row['count'] for row in report['ledger']}
check(lost.get('metric_lost', 0) == 0, 'no measured launch is lost')
print('        dropped because of other work: %d' % lost.get('metric_shared', 0))
sys.exit(wrong)
