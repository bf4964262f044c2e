#include "timeline_gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "base/array.h"

struct stretch {
	uint64_t start_ns, end_ns;
	uint32_t process_id, device_id; /* of its first work */
};

struct gpu {
	uint32_t device; /* the store's; 0: not described, so it is its process's */
	uint32_t process_id, device_id;
	struct stretch *stretches; /* owns */
	uint32_t nr, room, tidy;   /* tidy: so many are in order, and apart */
};

struct timeline_gaps {
	const struct profile *profile;
	struct gpu *gpus; /* owns */
	uint32_t nr, room, last;
};

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct timeline_gaps *timeline_gaps_create(const struct profile *profile)
{
	struct timeline_gaps *gaps = calloc(1, sizeof(*gaps));

	if (gaps)
		gaps->profile = profile;
	return gaps;
}

void timeline_gaps_destroy(struct timeline_gaps *gaps)
{
	if (!gaps)
		return;
	for (uint32_t i = 0; i < gaps->nr; i++)
		free(gaps->gpus[i].stretches);
	free(gaps->gpus);
	free(gaps);
}

static bool is_of(const struct gpu *gpu, uint32_t device, const struct timeline_work *work)
{
	return gpu->device == device && (device || (gpu->process_id == work->process_id &&
						    gpu->device_id == work->device_id));
}

/* NULL: no memory. */
static struct gpu *find_gpu(struct timeline_gaps *gaps, const struct timeline_work *work)
{
	const struct roster_process *process =
		roster_process(gaps->profile->collection->roster, work->process_id);
	const uint32_t device = process ? roster_process_device(process, work->device_id) : 0;

	if (gaps->nr && is_of(&gaps->gpus[gaps->last], device, work))
		return &gaps->gpus[gaps->last];
	for (gaps->last = 0; gaps->last < gaps->nr; gaps->last++)
		if (is_of(&gaps->gpus[gaps->last], device, work))
			return &gaps->gpus[gaps->last];
	if (array_reserve(&gaps->gpus, &gaps->room, gaps->nr + 1ull, sizeof(*gaps->gpus))) {
		gaps->last = 0;
		return NULL;
	}
	gaps->gpus[gaps->nr] = (struct gpu){
		.device = device, .process_id = work->process_id, .device_id = work->device_id};
	gaps->last = gaps->nr;
	return &gaps->gpus[gaps->nr++];
}

static int by_start(const void *a, const void *b)
{
	const struct stretch *left = a, *right = b;
	int order = COMPARE(left->start_ns, right->start_ns);

	return order ? order : COMPARE(left->end_ns, right->end_ns);
}

static int by_size(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Joins stretches with gaps below least_ns between them; 0: those that overlap or touch. */
static void join(struct gpu *gpu, uint64_t least_ns)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < gpu->nr; i++) {
		struct stretch *before = &gpu->stretches[last];
		const struct stretch *next = &gpu->stretches[i];

		if (next->start_ns <= before->end_ns ||
		    next->start_ns - before->end_ns < least_ns) {
			if (next->end_ns > before->end_ns)
				before->end_ns = next->end_ns;
		} else {
			gpu->stretches[++last] = *next;
		}
	}
	gpu->nr = gpu->nr ? last + 1 : 0;
}

static void tidy(struct gpu *gpu)
{
	if (gpu->nr)
		qsort(gpu->stretches, gpu->nr, sizeof(*gpu->stretches), by_start);
	join(gpu, 0);
	gpu->tidy = gpu->nr;
}

/* Closes the smaller half of the gaps, if too many are left. */
static int make_room(struct gpu *gpu)
{
	tidy(gpu);
	if (gpu->nr < TIMELINE_GAPS_KEPT / 2)
		return 0;
	uint64_t *sizes = malloc(gpu->nr * sizeof(*sizes));

	if (!sizes)
		return -ENOMEM;
	for (uint32_t i = 1; i < gpu->nr; i++)
		sizes[i - 1] = gpu->stretches[i].start_ns - gpu->stretches[i - 1].end_ns;
	qsort(sizes, gpu->nr - 1, sizeof(*sizes), by_size);
	join(gpu, sizes[(gpu->nr - 1) / 2] + 1);
	free(sizes);
	gpu->tidy = gpu->nr;
	return 0;
}

int timeline_gaps_add(struct timeline_gaps *gaps, const struct timeline_work *work)
{
	struct gpu *gpu = work->kind == RECORD_GPU_SYNC ? NULL : find_gpu(gaps, work);

	if (!gpu)
		return work->kind == RECORD_GPU_SYNC ? 0 : -ENOMEM;
	struct stretch *last = gpu->nr > gpu->tidy ? &gpu->stretches[gpu->nr - 1] : NULL;
	if (last && work->start_ns >= last->start_ns && work->start_ns <= last->end_ns) {
		if (work->end_ns > last->end_ns)
			last->end_ns = work->end_ns;
		return 0;
	}
	if (gpu->nr >= TIMELINE_GAPS_KEPT) {
		int error = make_room(gpu);

		if (error)
			return error;
	}
	if (array_reserve(&gpu->stretches, &gpu->room, gpu->nr + 1ull, sizeof(*gpu->stretches)))
		return -ENOMEM;
	gpu->stretches[gpu->nr++] =
		(struct stretch){work->start_ns, work->end_ns, work->process_id, work->device_id};
	return 0;
}

bool timeline_gaps_largest(struct timeline_gaps *gaps, const struct capture_pauses *pauses,
			   struct timeline_gap *largest)
{
	uint64_t most_ns = 0;

	*largest = (struct timeline_gap){0};
	for (uint32_t g = 0; g < gaps->nr; g++) {
		struct gpu *gpu = &gaps->gpus[g];

		tidy(gpu);
		for (uint32_t i = 1; i < gpu->nr; i++) {
			const struct stretch *next = &gpu->stretches[i];

			if (next->start_ns - next[-1].end_ns <= most_ns ||
			    capture_pauses_touch(pauses, next->process_id, next[-1].end_ns,
						 next->start_ns))
				continue;
			most_ns = next->start_ns - next[-1].end_ns;
			*largest = (struct timeline_gap){next[-1].end_ns, next->start_ns,
							 next->process_id, next->device_id};
		}
	}
	return most_ns > 0;
}
