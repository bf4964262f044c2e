#include "sim_record_log.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim_device.h"
#include "sim_truth.h"

static FILE *file; /* NULL: nobody asked for it */

static void open_file(void)
{
	const char *pattern = getenv("FAKE_CUDA_RECORDS");
	char path[PATH_MAX];

	if (!pattern || !*pattern)
		return;
	sim_truth_path(path, sizeof(path), pattern);
	file = fopen(path, "ae");
}

void sim_record_log_add(const struct sim_truth_row *row, uint64_t start_ns, uint64_t end_ns)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static const char *const kinds[] = {"kernel", "memcpy", "memset", "graph"};

	pthread_once(&once, open_file);
	if (file && row->device && row->kind <= SIM_GRAPH)
		fprintf(file, "%" PRIu32 "\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", row->device->index,
			kinds[row->kind], *row->name ? row->name : "-", start_ns, end_ns);
}

void sim_record_log_flush(void)
{
	if (file)
		fflush(file);
}
