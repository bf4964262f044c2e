#include "nccl_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "report/profile/profile_collectives.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct end { /* one rank's part of a collective */
	uint64_t key, sequence, ns;
	uint32_t process_id, correlation_id, nr_ranks;
};

static int by_collective(const void *a, const void *b)
{
	const struct end *left = a, *right = b;
	int order = COMPARE(left->key, right->key);

	order = order ? order : COMPARE(left->sequence, right->sequence);
	return order ? order : COMPARE(left->process_id, right->process_id);
}

static int by_kernel(const void *a, const void *b)
{
	const struct nccl_waits_kernel *left = a, *right = b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->correlation_id, right->correlation_id);
	order = order ? order : COMPARE(left->ns, right->ns);
	return order ? order : COMPARE(left->wait_ns, right->wait_ns);
}

/* Numbers of sends and receives are each rank's own. false: the call cannot be compared with those of other ranks. */
static bool make_end(const struct collective_folds *folds, const struct collective_log_call *from,
		     struct end *end)
{
	const struct collective *call = &from->call;
	const struct communicator *communicator;

	if (!from->gpu.known || !call->sequence || !call->correlation_id ||
	    call->function == COLLECTIVE_SEND || call->function == COLLECTIVE_RECV ||
	    call->function == COLLECTIVE_GROUP)
		return false;
	communicator = collective_folds_end(folds, from->process, call->communicator_id);
	if (!communicator || !communicator->key)
		return false;
	*end = (struct end){
		.key = communicator->key,
		.sequence = call->sequence,
		.ns = from->gpu.ns,
		.process_id = from->process,
		.correlation_id = call->correlation_id,
		.nr_ranks = communicator->nr_ranks,
	};
	return true;
}

/* Ranks that were made by a split do not know how many they are. */
static uint32_t count_ranks(const struct collective_folds *folds, const struct end *end)
{
	if (end->nr_ranks != COLLECTIVE_NOT_KNOWN)
		return end->nr_ranks;
	for (uint32_t i = 0; i < folds->nr_folds; i++)
		if (folds->folds[i].key == end->key)
			return folds->folds[i].nr_ranks;
	return COLLECTIVE_NOT_KNOWN;
}

static void split(struct nccl_waits *nccl, const struct end *ends, uint32_t nr, uint32_t nr_ranks)
{
	uint64_t least_ns = UINT64_MAX;

	if (nr < 2 || nr != nr_ranks)
		return;
	for (uint32_t i = 0; i < nr; i++)
		least_ns = ends[i].ns < least_ns ? ends[i].ns : least_ns;
	for (uint32_t i = 0; i < nr; i++)
		nccl->kernels[nccl->nr_kernels++] = (struct nccl_waits_kernel){
			.ns = ends[i].ns,
			.wait_ns = ends[i].ns - least_ns,
			.process_id = ends[i].process_id,
			.correlation_id = ends[i].correlation_id,
		};
}

int nccl_waits_init(struct nccl_waits *nccl, const struct collective_folds *folds)
{
	uint32_t count, nr = 0;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &count);
	struct end *ends = malloc((count + 1ull) * sizeof(*ends));

	*nccl = (struct nccl_waits){.kernels = malloc((count + 1ull) * sizeof(*nccl->kernels))};
	if (!ends || !nccl->kernels) {
		free(ends);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		nr += make_end(folds, &calls[i], &ends[nr]);
	if (nr)
		qsort(ends, nr, sizeof(*ends), by_collective);
	for (uint32_t i = 0, end, nr_ranks = 0; i < nr; i = end) {
		if (!i || ends[i].key != ends[i - 1].key)
			nr_ranks = count_ranks(folds, &ends[i]);
		for (end = i; end < nr && ends[end].key == ends[i].key &&
			      ends[end].sequence == ends[i].sequence;
		     end++)
			;
		split(nccl, &ends[i], end - i, nr_ranks);
	}
	free(ends);
	if (nccl->nr_kernels)
		qsort(nccl->kernels, nccl->nr_kernels, sizeof(*nccl->kernels), by_kernel);
	return 0;
}

int nccl_waits_load(struct nccl_waits *nccl, const char *store_path, char **why)
{
	struct collective_folds *folds;
	int error = profile_collectives_load(store_path, &folds, why);

	*nccl = (struct nccl_waits){0};
	if (error)
		return error;
	error = nccl_waits_init(nccl, folds);
	collective_folds_destroy(folds);
	return error;
}

void nccl_waits_fini(struct nccl_waits *nccl)
{
	free(nccl->kernels);
	*nccl = (struct nccl_waits){0};
}

bool nccl_waits_find(const struct nccl_waits *nccl, uint32_t process_id, uint32_t correlation_id,
		     uint64_t ns, uint64_t *wait_ns)
{
	const struct nccl_waits_kernel key = {
		.ns = ns, .process_id = process_id, .correlation_id = correlation_id};
	uint32_t low = 0, high = nccl->nr_kernels;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (by_kernel(&nccl->kernels[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == nccl->nr_kernels || nccl->kernels[low].process_id != process_id ||
	    nccl->kernels[low].correlation_id != correlation_id || nccl->kernels[low].ns != ns)
		return false;
	*wait_ns = nccl->kernels[low].wait_ns;
	return true;
}
