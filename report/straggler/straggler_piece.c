#include "straggler_piece.h"

#include <stdlib.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/kept_log.h"
#include "aggregator/profile/nccl_kernel.h"
#include "proto/record.h"

uint64_t straggler_piece_start(const struct host_sample *piece)
{
	return piece->time_ns > piece->duration_ns ? piece->time_ns - piece->duration_ns : 0;
}

static int by_start(const void *a, const void *b)
{
	const uint64_t x = straggler_piece_start(a), y = straggler_piece_start(b);

	return (x > y) - (x < y);
}

void straggler_piece_sort(struct host_sample *pieces, uint32_t count)
{
	if (count)
		qsort(pieces, count, sizeof(*pieces), by_start);
}

bool straggler_piece_is_nccl(const struct catalog *catalog, const struct host_sample *piece)
{
	uint32_t size;

	if (kept_kind_work(piece->kind) != RECORD_GPU_KERNEL)
		return false;
	const char *name = catalog_string(catalog, piece->name_id, &size);
	return nccl_kernel_is(name, size);
}
