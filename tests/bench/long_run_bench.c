/* What three days of a job take of memory and disk. The clock is simulated, all else is the product's.
 *	long_run_bench FOLDER [SECONDS|all [MIB [HOURS [raw]]]]	(--timeline, --max-size; all, 64, 72)
 * FOLDER is empty, or is made; remove it afterwards. Two ranks have two steps a second of 50 kernels each, with NCCL,
 * waits, allocations, marks of steps, 20 samples a second, telemetry, and comparisons of clocks. raw: single samples are kept (--raw-samples). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/aggregator/service/long_run.h"

#define MIB (1u << 20)

static int show(const struct long_run *run, uint64_t hour)
{
	struct long_run_sizes sizes;
	const struct long_run_truth truth = long_run_truth(run);

	if (long_run_sizes(run, &sizes))
		return 1;
	printf("%5" PRIu64 " h  %11" PRIu64
	       " events  heap %7.2f MiB  RSS %7.2f MiB  log %8.2f MiB in "
	       "%2" PRIu32 " files  store %7.2f MiB and %6.2f of its log  CPU %6.1f s\n",
	       hour, truth.nr_launches + truth.nr_records, (double)sizes.heap_bytes / MIB,
	       (double)sizes.rss_bytes / MIB, (double)sizes.log_bytes / MIB, sizes.nr_log_files,
	       (double)sizes.store_bytes / MIB, (double)sizes.store_log_bytes / MIB,
	       (double)clock_thread_ns() * 1e-9);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	static const uint64_t hours[] = {1, 2, 6, 12, 24, 48, 72};
	const uint64_t mib = argc > 3 ? strtoull(argv[3], NULL, 10) : 64;
	const uint64_t last = argc > 4 ? strtoull(argv[4], NULL, 10) : 72;
	char store[512];
	struct long_run_options options = {.store_path = store,
					   .timeline = {.keeps = true, .bytes_max = mib * MIB},
					   .raw_samples = argc > 5,
					   .nr_ranks = 2,
					   .nr_gpus = 1,
					   .step_ms = 500,
					   .step_kernels = 50,
					   .samples_per_s = 20,
					   .tick_ms = 10000};
	struct long_run *run;

	if (argc < 2) {
		fprintf(stderr, "long_run_bench FOLDER [SECONDS|all [MIB [HOURS [raw]]]]\n");
		return 2;
	}
	if (argc > 2 && strcmp(argv[2], "all") != 0)
		options.timeline.keep_ns = strtoull(argv[2], NULL, 10) * 1000000000ull;
	mkdir(argv[1], 0700);
	snprintf(store, sizeof(store), "%s/profile.db", argv[1]);
	if (long_run_create(&options, &run))
		return 1;
	int error = 0;
	for (size_t i = 0; i < sizeof(hours) / sizeof(*hours) && hours[i] <= last && !error; i++) {
		error = long_run_until(run, hours[i] * 3600);
		error = error ? error : show(run, hours[i]);
	}
	if (!error)
		error = long_run_end(run);
	long_run_destroy(run);
	return error ? 1 : 0;
}
