/* Makes the profile of a wide job with a timeline of all of it, to measure what reads that.
 *	wide_run_bench FOLDER [RANKS [GPUS [MINUTES [KERNELS]]]]	(512, 8, 60, 20)
 * FOLDER is empty, or is made. Each GPU has so many kernels and one of NCCL every 5 s. The log has its default bound.
 * The clock is simulated, all else is the product's. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/aggregator/service/long_run.h"

#define MIB (1u << 20)

static uint32_t number(int argc, char **argv, int index, uint32_t otherwise)
{
	return argc > index ? (uint32_t)strtoul(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	char store[512];
	const uint32_t minutes = number(argc, argv, 4, 60);
	const struct long_run_options options = {.store_path = store,
						 .timeline = {.keeps = true},
						 .nr_ranks = number(argc, argv, 2, 512),
						 .nr_gpus = number(argc, argv, 3, 8),
						 .step_ms = 5000,
						 .step_kernels = number(argc, argv, 5, 20),
						 .tick_ms = 5000};
	struct long_run_sizes sizes;
	struct long_run *run;

	if (argc < 2 || options.nr_ranks > LONG_RUN_RANKS_MAX ||
	    options.nr_gpus > LONG_RUN_GPUS_MAX) {
		fprintf(stderr, "wide_run_bench FOLDER [RANKS [GPUS [MINUTES [KERNELS]]]]\n");
		return 2;
	}
	mkdir(argv[1], 0700);
	snprintf(store, sizeof(store), "%s/profile.db", argv[1]);
	if (long_run_create(&options, &run))
		return 1;
	int error = long_run_until(run, minutes * 60ull);
	const struct long_run_truth truth = long_run_truth(run);
	error = error ? error : long_run_end(run);
	error = error ? error : long_run_sizes(run, &sizes);
	long_run_destroy(run);
	if (error)
		return 1;
	printf("%" PRIu64 " events of %" PRIu32 " ranks with %" PRIu32 " GPUs each in %" PRIu32
	       " minutes: log %.2f MiB in %" PRIu32
	       " files, store %.2f MiB, resident %.2f MiB, CPU "
	       "%.1f s\n",
	       truth.nr_launches + truth.nr_records, options.nr_ranks, options.nr_gpus, minutes,
	       (double)sizes.log_bytes / MIB, sizes.nr_log_files, (double)sizes.store_bytes / MIB,
	       (double)sizes.rss_bytes / MIB, (double)clock_thread_ns() * 1e-9);
	return 0;
}
