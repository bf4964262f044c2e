#include "straggler_alike.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/statistics/robust.h"

#define AS_OFTEN    0.1  /* numbers of launches that differ by less are equal */
#define LIKE_FACTOR 2    /* factors above 1 that differ by less are alike */
#define ALONE       0.8  /* of the excess: a kernel that holds so much is the cause by itself */

/* A leaf, and after join() a kernel with all its leaves. */
struct kernel {
	const char *name; /* borrowed from the work */
	uint32_t first, nr_leaves;
	double late, others; /* ns per collective; of the others the median */
	bool is_alike;
};

struct search {
	const struct straggler_work *work;
	const struct straggler_question *question;
	struct straggler_amount *amounts;
	bool in_windows;
	struct kernel *kernels; /* owns */
	uint32_t *leaves;       /* owns; those of a kernel stand together */
	double *values;         /* owns; of each party */
	uint32_t nr_kernels;
};

static double per_collective(const struct search *search, uint32_t party, double sum)
{
	return sum / (search->in_windows ? search->question->parties[party].windows.gpu.collectives
					 : (double)search->question->collectives);
}

static double median_of(const struct search *search, uint32_t leaf, bool of_count)
{
	const uint32_t width = search->question->nr_parties;

	for (uint32_t i = 1; i < width; i++) {
		const struct straggler_amount *amount = &search->amounts[(size_t)leaf * width + i];

		search->values[i - 1] =
			per_collective(search, i, of_count ? amount->count : amount->ns);
	}
	return robust_median(search->values, width - 1);
}

static int by_name(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : (x->first > y->first) - (x->first < y->first);
}

/* Takes the leaves that are kernels, which the late rank launches as often as the others. */
static void take_leaves(struct search *search)
{
	const uint32_t width = search->question->nr_parties;
	const uint32_t count = straggler_work_nodes(search->work);

	for (uint32_t leaf = 0; leaf < count; leaf++) {
		const struct straggler_amount *late = &search->amounts[(size_t)leaf * width];

		if (late->count <= 0 || late->ns <= 0 ||
		    !straggler_work_is_leaf(search->work, leaf) ||
		    !strstr(straggler_work_name(search->work, leaf), "_Kernel]"))
			continue;
		const double launches = median_of(search, leaf, true);
		const double others = median_of(search, leaf, false);
		if (launches <= 0 || others <= 0 ||
		    fabs(per_collective(search, 0, late->count) / launches - 1) >= AS_OFTEN)
			continue;
		search->kernels[search->nr_kernels++] = (struct kernel){
			.name = straggler_work_name(search->work, leaf),
			.first = leaf,
			.late = per_collective(search, 0, late->ns),
			.others = others,
		};
	}
}

static void join_leaves(struct search *search)
{
	uint32_t kept = 0;

	qsort(search->kernels, search->nr_kernels, sizeof(*search->kernels), by_name);
	for (uint32_t i = 0; i < search->nr_kernels; i++) {
		const struct kernel *from = &search->kernels[i];

		search->leaves[i] = from->first;
		if (kept && strcmp(search->kernels[kept - 1].name, from->name) == 0) {
			struct kernel *to = &search->kernels[kept - 1];

			to->late += from->late;
			to->others += from->others;
			to->nr_leaves++;
			continue;
		}
		search->kernels[kept] = *from;
		search->kernels[kept].first = i;
		search->kernels[kept++].nr_leaves = 1;
	}
	search->nr_kernels = kept;
}

static int by_factor(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;
	const double left = x->late * y->others, right = y->late * x->others;

	return left > right || left < right ? (left > right) - (left < right)
					    : strcmp(x->name, y->name);
}

/* Returns the factor at which half of the excess lies below; 1: there is none. */
static double middle_factor(struct search *search)
{
	double all = 0, sum = 0;

	qsort(search->kernels, search->nr_kernels, sizeof(*search->kernels), by_factor);
	for (uint32_t i = 0; i < search->nr_kernels; i++)
		all += fmax(0, search->kernels[i].late - search->kernels[i].others);
	for (uint32_t i = 0; i < search->nr_kernels && all > 0; i++) {
		sum += fmax(0, search->kernels[i].late - search->kernels[i].others);
		if (2 * sum >= all)
			return search->kernels[i].late / search->kernels[i].others;
	}
	return 1;
}

static uint32_t common_of(const struct straggler_work *work, uint32_t a, uint32_t b)
{
	while (a != b)
		if (a > b)
			a = straggler_work_parent(work, a);
		else
			b = straggler_work_parent(work, b);
	return a;
}

/* Marks those with about the middle factor, and adds them up. Returns whether they are many enough. */
static bool mark_alike(struct search *search, struct straggler_alike *alike)
{
	const double middle = middle_factor(search) - 1;
	double late = 0, others = 0, most = 0;

	for (uint32_t i = 0; i < search->nr_kernels && middle >= STRAGGLER_LONGER_LAUNCH - 1; i++) {
		struct kernel *kernel = &search->kernels[i];
		const double more = kernel->late / kernel->others - 1;

		kernel->is_alike = more * LIKE_FACTOR >= middle && more <= middle * LIKE_FACTOR;
		if (!kernel->is_alike)
			continue;
		alike->kernels++;
		late += kernel->late;
		others += kernel->others;
		for (uint32_t j = 0; j < kernel->nr_leaves; j++) {
			const uint32_t leaf = search->leaves[kernel->first + j];

			alike->above = alike->kernels == 1 && j == 0
					       ? leaf
					       : common_of(search->work, alike->above, leaf);
		}
		if (kernel->late - kernel->others <= most)
			continue;
		most = kernel->late - kernel->others;
		alike->most = search->leaves[kernel->first];
	}
	alike->of_kernels = search->nr_kernels;
	alike->longer = others > 0 ? late / others : 1;
	return alike->kernels > 1 && most < ALONE * (late - others);
}

/* Sums each party's time in the kernels, and returns whether the late one's is beyond chance. */
static bool is_slower(const struct search *search, double least_ns, struct straggler_alike *alike)
{
	const uint32_t width = search->question->nr_parties;
	double late = 0;

	memset(search->values, 0, width * sizeof(*search->values));
	for (uint32_t i = 0; i < search->nr_kernels; i++) {
		const struct kernel *kernel = &search->kernels[i];

		for (uint32_t j = 0; j < kernel->nr_leaves && kernel->is_alike; j++) {
			const struct straggler_amount *amounts =
				&search->amounts[(size_t)search->leaves[kernel->first + j] * width];

			late += per_collective(search, 0, amounts[0].ns);
			for (uint32_t k = 1; k < width; k++)
				search->values[k - 1] += per_collective(search, k, amounts[k].ns);
		}
	}
	alike->excess = late - robust_median(search->values, width - 1);
	return alike->excess >
	       fmax(least_ns, STRAGGLER_EXCESS_SPREADS * robust_spread(search->values, width - 1));
}

/* Takes a leaf's amounts out of it, and of the nodes above it. */
static void take_out(const struct search *search, uint32_t leaf)
{
	const uint32_t width = search->question->nr_parties;
	struct straggler_amount *from = &search->amounts[(size_t)leaf * width];

	for (uint32_t node = leaf; node > 0;) {
		node = straggler_work_parent(search->work, node);
		for (uint32_t i = 0; i < width; i++) {
			struct straggler_amount *to = &search->amounts[(size_t)node * width + i];

			to->ns = fmax(0, to->ns - from[i].ns);
			to->count = fmax(0, to->count - from[i].count);
		}
	}
	memset(from, 0, width * sizeof(*from));
}

static void take_out_alike(const struct search *search)
{
	for (uint32_t i = 0; i < search->nr_kernels; i++)
		for (uint32_t j = 0; j < search->kernels[i].nr_leaves; j++)
			if (search->kernels[i].is_alike)
				take_out(search, search->leaves[search->kernels[i].first + j]);
}

int straggler_alike_take(const struct straggler_work *work,
			 const struct straggler_question *question, bool in_windows,
			 double least_ns, struct straggler_amount *amounts,
			 struct straggler_alike *alike)
{
	const uint32_t count = straggler_work_nodes(work);
	struct search search = {
		.work = work,
		.question = question,
		.amounts = amounts,
		.in_windows = in_windows,
		.kernels = calloc(count + 1ul, sizeof(*search.kernels)),
		.leaves = calloc(count + 1ul, sizeof(*search.leaves)),
		.values = calloc(question->nr_parties, sizeof(*search.values)),
	};
	int error = search.kernels && search.leaves && search.values ? 0 : -ENOMEM;

	*alike = (struct straggler_alike){0};
	if (!error) {
		take_leaves(&search);
		join_leaves(&search);
		if (mark_alike(&search, alike) && is_slower(&search, least_ns, alike))
			take_out_alike(&search);
		else
			*alike = (struct straggler_alike){0};
	}
	free(search.kernels);
	free(search.leaves);
	free(search.values);
	return error;
}
