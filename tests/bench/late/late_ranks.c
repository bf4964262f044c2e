#include "late_ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_test.h"

#include "report/model/report_ranks.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/report/straggler/straggler_trainee.h"

#define STACK "train.py:main;train.py:forward;cudaLaunchKernel"

static struct trainee make_trainee(const struct model *model, uint32_t rank, uint64_t *seed)
{
	char node[16];

	if (rank > 0 && model->ranks_per_host && rank % model->ranks_per_host == 0) {
		snprintf(node, sizeof(node), "node%02u", rank / model->ranks_per_host + 1);
		job_node(node);
	}
	return (struct trainee){
		.process = job_process((int32_t)rank),
		.host_skew_ns = (int64_t)((job_uniform(seed) - 0.5) * 10e9),
		.gpu_offset_ns = TRAINEE_GPU_OFFSET_NS + (int64_t)(job_uniform(seed) * 1e9),
	};
}

static double on_gpu(enum late_where where, double usual_ms, double ms)
{
	switch (where) {
	case LATE_ON_GPU:
		return ms;
	case LATE_ON_BOTH:
		return ms / 2;
	default:
		return fmin(0.3 * usual_ms, ms);
	}
}

/* Kernels come 0 to 0.1 ms after their launch. */
static void play_rank(const struct model *model, struct trainee *trainee, uint32_t rank,
		      const double *work, enum late_where where, uint64_t *seed)
{
	double now_ms = 0;

	for (uint32_t i = 0; i < model->collectives; i++) {
		const double *of = work + (size_t)i * model->ranks;
		double gpu_ms = on_gpu(where, model->work_ms, of[rank]), last_ms = 0;

		for (uint32_t j = 0; j < model->ranks; j++)
			last_ms = fmax(last_ms, of[j]);
		last_ms += MODEL_COLLECTIVE_MS;
		trainee->delay_ms = 0.1 * job_uniform(seed);
		trainee_kernel(trainee, "gemm", STACK, now_ms + of[rank] - gpu_ms, gpu_ms);
		trainee->delay_ms = 0.1 * job_uniform(seed);
		trainee_kernel(trainee, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", STACK,
			       now_ms + of[rank], last_ms - of[rank]);
		now_ms += last_ms;
	}
}

static uint32_t count_marks(bool *marked)
{
	struct profile *profile = job_profile();
	struct report_ranks *ranks;
	uint32_t count = 0;

	assert_int_equal(report_ranks_create(profile, &ranks), 0);
	for (uint32_t i = 0; i < ranks->nr_rows; i++) {
		const struct report_ranks_row *row = &ranks->rows[i];

		if (!row->outliers)
			continue;
		count += !marked[row->rank];
		marked[row->rank] = true;
	}
	report_ranks_destroy(ranks);
	profile_destroy(profile);
	return count;
}

uint32_t late_ranks_mark(const struct model *model, const double *work, enum late_where where,
			 bool *marked)
{
	uint64_t seed = ~model->seed;
	void *state = NULL;

	job_set_up(&state);
	for (uint32_t i = 0; i < model->ranks; i++) {
		struct trainee trainee = make_trainee(model, i, &seed);

		marked[i] = false;
		play_rank(model, &trainee, i, work, where, &seed);
	}
	job_commit();
	uint32_t count = count_marks(marked);
	job_tear_down(&state);
	return count;
}
