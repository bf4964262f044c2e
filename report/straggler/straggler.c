#include "straggler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/robust.h"

/* With more ranks, only those that may be late are compared with all others, because each comparison costs a pass. */
#define Z_RANKS 64u

double straggler_tail(uint32_t count, uint32_t total, double p)
{
	double sum = 0;
	int sign;

	if (count == 0)
		return 1;
	double all = lgamma_r((double)total + 1, &sign);
	for (uint32_t i = count; i <= total; i++) {
		double log_term = all - lgamma_r((double)i + 1, &sign) -
				  lgamma_r((double)(total - i) + 1, &sign) + (double)i * log(p) +
				  (double)(total - i) * log1p(-p);
		double term = exp(log_term);

		sum += term;
		/* Beyond the mean the terms only fall. */
		if ((double)i > (double)total * p && term < sum * 1e-16)
			break;
	}
	return sum < 1 ? sum : 1;
}

struct work {
	const struct straggler_input *input;
	uint32_t nr_stretches;
	double *late; /* owns; rank j's mean lateness in stretch i: [j * nr_stretches + i] */
	/* owns; the time that rank j kept the others waiting in the current stretch */
	uint64_t *kept_ns;
	uint64_t *behind;  /* owns; for each collective: how far the last rank was behind */
	uint32_t *last_of; /* owns; for each collective: its last rank, + 1; 0: two were last */
	uint32_t *order;   /* owns; ranks by time */
	double *values;    /* owns */
};

static int work_init(struct work *work, const struct straggler_input *input)
{
	size_t ranks = input->nr_ranks, collectives = input->nr_collectives;

	work->input = input;
	work->nr_stretches = input->nr_collectives < STRAGGLER_STRETCHES ? input->nr_collectives
									 : STRAGGLER_STRETCHES;
	size_t values = ranks * (work->nr_stretches + 1ul) + 1;
	work->late = calloc(values, sizeof(*work->late));
	work->kept_ns = calloc(ranks + 1, sizeof(*work->kept_ns));
	work->behind = calloc(collectives + 1, sizeof(*work->behind));
	work->last_of = calloc(collectives + 1, sizeof(*work->last_of));
	work->order = calloc(ranks + 1, sizeof(*work->order));
	work->values = calloc(values, sizeof(*work->values));
	return work->late && work->kept_ns && work->behind && work->last_of && work->order &&
			       work->values
		       ? 0
		       : -ENOMEM;
}

static void work_fini(struct work *work)
{
	free(work->late);
	free(work->kept_ns);
	free(work->behind);
	free(work->last_of);
	free(work->order);
	free(work->values);
}

static int by_time(const void *a, const void *b, void *context)
{
	const uint64_t *times = context;
	uint64_t x = times[*(const uint32_t *)a], y = times[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

/* Returns the median time of all ranks but the one at this place of the order. */
static double median_of_others(const struct work *work, const uint64_t *times, uint32_t place)
{
	uint32_t others = work->input->nr_ranks - 1;
	uint32_t low = (others - 1) / 2, high = others / 2;

	low += low >= place;
	high += high >= place;
	return ((double)times[work->order[low]] + (double)times[work->order[high]]) / 2;
}

static void take_collective(struct work *work, uint32_t collective, uint32_t stretch,
			    struct straggler_rank *ranks)
{
	const uint32_t nr_ranks = work->input->nr_ranks;
	const uint64_t *times = work->input->times_ns + (size_t)collective * nr_ranks;
	uint64_t waited = 0;

	for (uint32_t i = 0; i < nr_ranks; i++)
		work->order[i] = i;
	qsort_r(work->order, nr_ranks, sizeof(*work->order), by_time, (void *)times);
	uint32_t last = work->order[0];
	for (uint32_t i = 0; i < nr_ranks; i++) {
		uint32_t rank = work->order[i];

		ranks[rank].waited_ns += times[rank] - times[last];
		waited += times[rank] - times[last];
		work->late[(size_t)rank * work->nr_stretches + stretch] +=
			median_of_others(work, times, i) - (double)times[rank];
	}
	work->behind[collective] = times[work->order[1]] - times[last];
	if (!work->behind[collective])
		return;
	work->last_of[collective] = last + 1;
	ranks[last].last++;
	ranks[last].others_ns += waited;
	work->kept_ns[last] += waited;
}

static void end_stretch(struct work *work, struct straggler_rank *ranks)
{
	uint32_t first = 0;
	bool alone = false;

	for (uint32_t i = 0; i < work->input->nr_ranks; i++) {
		if (work->kept_ns[i] == work->kept_ns[first] && i != first)
			alone = false;
		if (work->kept_ns[i] > work->kept_ns[first] || i == 0) {
			first = i;
			alone = work->kept_ns[i] > 0;
		}
	}
	ranks[first].stretches += alone;
	for (uint32_t i = 0; i < work->input->nr_ranks; i++)
		work->kept_ns[i] = 0;
}

static void take_all(struct work *work, struct straggler_rank *ranks)
{
	const uint64_t total = work->input->nr_collectives;
	uint32_t at = 0;

	for (uint32_t i = 0; i < work->nr_stretches; i++) {
		uint32_t from = at, to = (uint32_t)(total * (i + 1ull) / work->nr_stretches);

		for (; at < to; at++)
			take_collective(work, at, i, ranks);
		end_stretch(work, ranks);
		for (uint32_t j = 0; j < work->input->nr_ranks; j++) {
			work->late[(size_t)j * work->nr_stretches + i] /= (double)(to - from);
		}
	}
}

static double mean_late(const struct work *work, uint32_t rank)
{
	double sum = 0;

	for (uint32_t i = 0; i < work->nr_stretches; i++)
		sum += work->late[(size_t)rank * work->nr_stretches + i];
	return sum / work->nr_stretches;
}

/* Returns how many independent stretches the stretches are worth: n (1 - r) / (1 + r). r is the correlation of
 * neighbours in the lateness of the other ranks, as in an autoregressive process of first order. The rank's own
 * lateness is in question, so it is left out. */
static double independent_stretches(const struct work *work, const double *means, uint32_t rank)
{
	const uint32_t nr_stretches = work->nr_stretches;
	double products = 0, squares = 0;

	for (uint32_t j = 0; j < work->input->nr_ranks; j++) {
		const double *late = work->late + (size_t)j * nr_stretches;

		for (uint32_t i = 0; i < nr_stretches && j != rank; i++) {
			squares += (late[i] - means[j]) * (late[i] - means[j]);
			if (i > 0)
				products += (late[i] - means[j]) * (late[i - 1] - means[j]);
		}
	}
	if (products <= 0)
		return nr_stretches;
	double alike = products / squares;
	return nr_stretches * (1 - alike) / (1 + alike);
}

/* Finds each rank's usual lateness. On a busy machine a few stretches of every rank differ from it as much as all
 * others together. */
static void find_usual(struct work *work, double *usual)
{
	const uint32_t nr_stretches = work->nr_stretches;

	for (uint32_t j = 0; j < work->input->nr_ranks; j++) {
		memcpy(work->values, work->late + (size_t)j * nr_stretches,
		       nr_stretches * sizeof(*work->values));
		usual[j] = robust_mean(work->values, nr_stretches);
	}
}

/* The noise is the difference of the other ranks, and the error of a mean of independent stretches. */
static double z_of(struct work *work, const double *usual, uint32_t rank, double independent)
{
	const uint32_t nr_ranks = work->input->nr_ranks, nr_stretches = work->nr_stretches;
	uint32_t count = 0, others = 0;

	for (uint32_t j = 0; j < nr_ranks; j++)
		for (uint32_t i = 0; i < nr_stretches && j != rank; i++)
			work->values[count++] = work->late[(size_t)j * nr_stretches + i] - usual[j];
	double noise = robust_spread(work->values, count) / sqrt(independent);
	for (uint32_t j = 0; j < nr_ranks; j++)
		if (j != rank)
			work->values[others++] = usual[j];
	double median = robust_median(work->values, others);
	double between = robust_spread(work->values, others);

	if (between > noise)
		noise = between;
	if (noise > 0)
		return (usual[rank] - median) / noise;
	return usual[rank] > median ? INFINITY : 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median_behind(const struct work *work, uint32_t rank, uint64_t *room)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < work->input->nr_collectives; i++)
		if (work->last_of[i] == rank + 1)
			room[count++] = work->behind[i];
	if (count == 0)
		return 0;
	qsort(room, count, sizeof(*room), by_number);
	return room[(count - 1) / 2] + (room[count / 2] - room[(count - 1) / 2]) / 2;
}

static void judge(struct work *work, const double *means, const double *usual, uint32_t index,
		  struct straggler_rank *rank)
{
	const struct straggler_input *input = work->input;
	double p_max = STRAGGLER_P_MAX / (input->nr_tests ? input->nr_tests : 1);
	double equal = 1.0 / input->nr_ranks;

	rank->late_ns = (int64_t)llround(means[index]);
	rank->p = straggler_tail(rank->last, input->nr_collectives, equal);
	if (input->span_ns)
		rank->share =
			(double)rank->others_ns / (input->nr_ranks - 1) / (double)input->span_ns;
	bool suspect = rank->p < p_max && rank->share > STRAGGLER_SHARE_MIN;
	if (!suspect && input->nr_ranks > Z_RANKS)
		return;

	double independent = independent_stretches(work, means, index);
	double part = independent / work->nr_stretches;
	rank->p_stretches = straggler_tail((uint32_t)(rank->stretches * part),
					   (uint32_t)(work->nr_stretches * part), equal);
	rank->z = z_of(work, usual, index, independent);
	rank->named = suspect && rank->p_stretches < p_max && rank->z > STRAGGLER_Z_MIN;
}

int straggler_find(const struct straggler_input *input, struct straggler_rank *ranks)
{
	struct work work = {0};
	uint64_t *room = calloc(input->nr_collectives + 1ul, sizeof(*room));
	double *means = calloc(2ul * input->nr_ranks + 1, sizeof(*means));
	int error = work_init(&work, input);

	if (!room || !means)
		error = -ENOMEM;
	for (uint32_t i = 0; i < input->nr_ranks; i++)
		ranks[i] = (struct straggler_rank){.p = 1, .p_stretches = 1};
	if (!error && input->nr_collectives) {
		take_all(&work, ranks);
		for (uint32_t i = 0; i < input->nr_ranks; i++) {
			means[i] = mean_late(&work, i);
			ranks[i].behind_ns = median_behind(&work, i, room);
		}
		find_usual(&work, means + input->nr_ranks);
		for (uint32_t i = 0; i < input->nr_ranks; i++)
			judge(&work, means, means + input->nr_ranks, i, &ranks[i]);
	}
	work_fini(&work);
	free(room);
	free(means);
	return error;
}
