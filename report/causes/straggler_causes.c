#include "straggler_causes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause_function.h"
#include "straggler_alike.h"

#include "base/array.h"
#include "report/model/report_tree.h"
#include "report/statistics/robust.h"

#define PART_MIN       0.02 /* of the lateness; the excess must also exceed this */
#define MORE_LAUNCHES  0.02 /* of the others' launches; fewer above these are not more work */
#define STALL_LAUNCHES 4    /* more launches during a stall are more work, not slower work */
#define CUT_STACK      "…;"
#define STACK_MAX      12u /* innermost frames that a shown stack has */

/* The examination of one sort of work. */
struct look {
	const struct straggler_work *work;
	const struct straggler_question *question;
	enum straggler_sort sort;
	bool in_windows;
	uint32_t nr_nodes;
	struct straggler_amount *amounts;
	double *excess; /* owns; for each node and below, per collective; 0: it may be chance */
	double *below;  /* owns; sum over its children */
	double *doubt;  /* owns; an amount at the node that may be chance */
	uint32_t *child, *sibling;    /* owns; 0: none */
	double *values;               /* owns; the other ranks' values */
	double period_ns;             /* period of samples on the CPU */
	struct straggler_alike alike; /* kernels whose amounts are taken out */
};

struct causes {
	struct straggler_cause *list; /* owns */
	uint32_t count, room;
	double idle; /* what the GPU idled more in all, as a share of the lateness */
};

void straggler_cause_fini(struct straggler_cause *cause)
{
	free(cause->function);
	free(cause->what);
	free(cause->stack);
}

/* Returns the divisor of a party's sums. */
static double times_of(const struct look *look, uint32_t party)
{
	const struct straggler_windows *windows = &look->question->parties[party].windows;

	if (!look->in_windows)
		return (double)look->question->collectives;
	return look->sort == STRAGGLER_GPU_WORK ? windows->gpu.collectives
	       : look->sort == STRAGGLER_IDLE   ? windows->idle.collectives
						: windows->host.collectives;
}

static double late_of(const struct look *look)
{
	return look->in_windows ? (double)look->question->window_late_ns
				: (double)look->question->late_ns;
}

static double ns_of(const struct straggler_amount *amount)
{
	return amount->ns;
}

static double count_of(const struct straggler_amount *amount)
{
	return amount->count;
}

/* Returns the median of what the others have at a node, per collective, and leaves their values in look->values. */
static double median_of(const struct look *look, uint32_t node,
			double (*value_of)(const struct straggler_amount *amount))
{
	const uint32_t width = look->question->nr_parties;

	for (uint32_t i = 1; i < width; i++)
		look->values[i - 1] =
			value_of(&look->amounts[(size_t)node * width + i]) / times_of(look, i);
	return robust_median(look->values, width - 1);
}

/* Returns the late rank's amount above the others'; 0: it may be chance. Sets the node's doubt. */
static double own_excess(struct look *look, uint32_t node)
{
	const struct straggler_amount *late =
		&look->amounts[(size_t)node * look->question->nr_parties];
	double median = median_of(look, node, ns_of);
	double more = late->ns / times_of(look, 0) - median;
	double noise = robust_spread(look->values, look->question->nr_parties - 1);
	/* Of n samples of a clock the error is the root of n. */
	double sampling = look->sort == STRAGGLER_CPU
				  ? sqrt(late->ns * look->period_ns) / times_of(look, 0)
				  : 0;
	look->doubt[node] =
		fmax(STRAGGLER_EXCESS_SPREADS * fmax(noise, sampling), PART_MIN * late_of(look));
	return more > look->doubt[node] ? more : 0;
}

static int look_init(struct look *look)
{
	look->nr_nodes = straggler_work_nodes(look->work);
	look->amounts = straggler_work_sum(look->work, look->sort);
	look->excess = calloc(look->nr_nodes, sizeof(*look->excess));
	look->below = calloc(look->nr_nodes, sizeof(*look->below));
	look->doubt = calloc(look->nr_nodes, sizeof(*look->doubt));
	look->child = calloc(look->nr_nodes, sizeof(*look->child));
	look->sibling = calloc(look->nr_nodes, sizeof(*look->sibling));
	look->values = calloc(look->question->nr_parties, sizeof(*look->values));
	if (!look->amounts || !look->excess || !look->below || !look->doubt || !look->child ||
	    !look->sibling || !look->values)
		return -ENOMEM;
	if (look->sort == STRAGGLER_GPU_WORK &&
	    straggler_alike_take(look->work, look->question, look->in_windows,
				 PART_MIN * late_of(look), look->amounts, &look->alike))
		return -ENOMEM;
	if (look->amounts[0].count > 0)
		look->period_ns = look->amounts[0].ns / look->amounts[0].count;
	for (uint32_t node = look->nr_nodes; node-- > 0;) {
		double own = own_excess(look, node);

		/* A frame may have less of one thing, and more of another. */
		look->excess[node] = own > look->below[node] ? own : look->below[node];
		if (node == 0 || look->excess[node] <= 0)
			continue;
		uint32_t parent = straggler_work_parent(look->work, node);
		look->below[parent] += look->excess[node];
		look->sibling[node] = look->child[parent];
		look->child[parent] = node;
	}
	return 0;
}

static void look_fini(struct look *look)
{
	free(look->amounts);
	free(look->excess);
	free(look->below);
	free(look->doubt);
	free(look->child);
	free(look->sibling);
	free(look->values);
}

/* ---- in words */

/* Returns "sleep" for the reason "sleep", and for "[Off-CPU]sleep" during idle time. */
static const char *reason_of(enum report_plane plane, const char *what)
{
	if (plane != REPORT_PLANE_IDLE)
		return what && plane == REPORT_PLANE_OFF_CPU ? what : "";
	return what && strncmp(what, "[Off-CPU]", 9) == 0 ? what + 9 : "";
}

/* Names the innermost function; if a Python function calls it, that one, because that is what people can change. Of
 * Python's, those come last that only wait for others. */
static char *name_function(const struct look *look, uint32_t node, const char *what)
{
	const char *function = "";

	for (; node; node = straggler_work_parent(look->work, node)) {
		const char *name = straggler_work_name(look->work, node);

		if (straggler_work_is_leaf(look->work, node) || !cause_function_is(name, what))
			continue;
		if (cause_function_is_python(name) && !cause_function_waits(name))
			return strdup(name);
		if (!*function ||
		    (cause_function_is_python(name) && !cause_function_is_python(function)))
			function = name;
	}
	return strdup(function);
}

/* Returns the leaf below with the largest excess. */
static uint32_t find_leaf(const struct look *look, uint32_t node)
{
	const uint32_t width = look->question->nr_parties;
	uint32_t found = node;
	double most = 0;

	for (uint32_t leaf = node; leaf < look->nr_nodes; leaf++) {
		uint32_t above = leaf;

		if (!straggler_work_is_leaf(look->work, leaf) ||
		    look->amounts[(size_t)leaf * width].ns <= 0)
			continue;
		double more = look->amounts[(size_t)leaf * width].ns / times_of(look, 0) -
			      median_of(look, leaf, ns_of);
		while (above > node)
			above = straggler_work_parent(look->work, above);
		if (above == node && more > most) {
			most = more;
			found = leaf;
		}
	}
	return found;
}

/* Returns whether a node is the kernel's code for page faults, or below it: "asm_exc_page_fault_[k]". */
static bool is_page_fault(const struct look *look, uint32_t node)
{
	for (; node; node = straggler_work_parent(look->work, node)) {
		const char *name = straggler_work_name(look->work, node);
		size_t size = strlen(name);

		if (strstr(name, "page_fault") && size >= 4 && !strcmp(name + size - 4, "_[k]"))
			return true;
	}
	return false;
}

/* "[GPU_Kernel]gemm" is called gemm, and "[Off-CPU]futex" futex. Idle time is called by the frame above the leaf. */
static char *name_what(const struct look *look, uint32_t node)
{
	uint32_t leaf = find_leaf(look, node);

	if (look->sort == STRAGGLER_IDLE)
		return strdup(
			straggler_work_name(look->work, straggler_work_parent(look->work, leaf)));
	if (look->sort == STRAGGLER_CPU)
		return strdup(is_page_fault(look, node) ? "page fault" : "");
	const char *name = straggler_work_name(look->work, leaf);
	const char *end = name[0] == '[' ? strchr(name, ']') : NULL;
	if (!end)
		return strdup("");
	return strdup(look->sort == STRAGGLER_GPU_WORK && !strstr(name, "_Kernel]") ? name
										    : end + 1);
}

static char *name_stack(const struct look *look, uint32_t node)
{
	uint32_t chain[STACK_MAX], depth = 0;
	char *text = NULL;
	size_t size;

	for (; node && depth < STACK_MAX; node = straggler_work_parent(look->work, node))
		chain[depth++] = node;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (node)
		fputs(CUT_STACK, out);
	while (depth > 0) {
		fputs(straggler_work_name(look->work, chain[--depth]), out);
		if (depth > 0)
			fputc(';', out);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- findings */

static void compare_launches(const struct look *look, uint32_t node, struct straggler_cause *cause)
{
	const struct straggler_amount *late =
		&look->amounts[(size_t)node * look->question->nr_parties];
	double count = median_of(look, node, count_of), ns = median_of(look, node, ns_of);

	cause->launches = late->count / times_of(look, 0) - count;
	cause->factor = ns > 0 ? late->ns / times_of(look, 0) / ns : 0;
	cause->more = late->count > 0 && cause->launches > MORE_LAUNCHES * count &&
		      (count <= 0 || late->ns / late->count < STRAGGLER_LONGER_LAUNCH * ns / count);
	/* The others launch nothing during a stall. */
	if (look->question->parties[0].windows.is_stall)
		cause->more = late->count > STALL_LAUNCHES;
}

static int add_cause(const struct look *look, uint32_t node, struct causes *causes)
{
	if (array_reserve(&causes->list, &causes->room, causes->count + 1, sizeof(*causes->list)))
		return -ENOMEM;
	struct straggler_cause *cause = &causes->list[causes->count++];
	*cause = (struct straggler_cause){
		.plane = straggler_work_plane(look->sort),
		.sort = look->sort,
		.extent = look->in_windows ? look->question->extent : STRAGGLER_RUN,
		.excess_ns = (uint64_t)llround(look->excess[node]),
		.share = late_of(look) > 0 ? look->excess[node] / late_of(look) : 0,
		.what = name_what(look, node),
		.stack = node ? name_stack(look, node)
			      : strdup(straggler_work_name(look->work, find_leaf(look, 0))),
	};
	cause->function = name_function(look, node, reason_of(cause->plane, cause->what));
	if (look->sort == STRAGGLER_GPU_WORK)
		compare_launches(look, node, cause);
	return cause->function && cause->what && cause->stack ? 0 : -ENOMEM;
}

static int add_alike(const struct look *look, struct causes *causes)
{
	const struct straggler_alike *alike = &look->alike;

	if (array_reserve(&causes->list, &causes->room, causes->count + 1, sizeof(*causes->list)))
		return -ENOMEM;
	struct straggler_cause *cause = &causes->list[causes->count++];
	*cause = (struct straggler_cause){
		.plane = REPORT_PLANE_GPU,
		.sort = STRAGGLER_GPU_WORK,
		.extent = look->in_windows ? look->question->extent : STRAGGLER_RUN,
		.excess_ns = (uint64_t)llround(alike->excess),
		.share = late_of(look) > 0 ? alike->excess / late_of(look) : 0,
		.what = strdup(strchr(straggler_work_name(look->work, alike->most), ']') + 1),
		.stack = name_stack(look, alike->above ? alike->above : alike->most),
		.function = name_function(look, alike->above, ""),
		.kernels = alike->kernels,
		.of_kernels = alike->of_kernels,
		.longer = alike->longer,
		.factor = alike->longer,
	};
	return cause->function && cause->what && cause->stack ? 0 : -ENOMEM;
}

/* Returns whether nearly all of the rank's time at a node is above the others' time. */
static bool is_extra(const struct look *look, uint32_t node)
{
	const struct straggler_amount *late =
		&look->amounts[(size_t)node * look->question->nr_parties];

	return late->ns > 0 &&
	       look->excess[node] >= STRAGGLER_CAUSES_SHARE * late->ns / times_of(look, 0);
}

/* Returns whether the others hardly do this, although they do the work above it. */
static bool begins_extra(const struct look *look, uint32_t node)
{
	if (!is_extra(look, node))
		return false;
	for (uint32_t above = straggler_work_parent(look->work, node); above;
	     above = straggler_work_parent(look->work, above))
		if (!is_extra(look, above))
			return true;
	return false;
}

/* Returns whether the excess is divided among the children like the others' time. Then all of it takes longer. */
static bool is_even(const struct look *look, uint32_t node)
{
	double excess = 0, in_these = 0, others = median_of(look, node, ns_of), apart = 0;

	for (uint32_t child = look->child[node]; child; child = look->sibling[child]) {
		excess += look->excess[child];
		in_these += median_of(look, child, ns_of);
	}
	if (in_these > others)
		others = in_these;
	if (excess <= 0 || others <= 0)
		return false;
	for (uint32_t child = look->child[node]; child; child = look->sibling[child])
		apart +=
			fabs(look->excess[child] / excess - median_of(look, child, ns_of) / others);
	/* Children without an excess are not in the list. */
	apart += (others - in_these) / others;
	return apart / 2 < STRAGGLER_CAUSES_UNEVEN;
}

/* Return whether a node is one cause together with all that it calls: the others hardly do it, or all of it takes
 * longer. Each kernel is a cause by itself. */
static bool is_new(const struct look *look, uint32_t node)
{
	return node != 0 && look->sort != STRAGGLER_GPU_WORK && begins_extra(look, node);
}

static bool is_all_longer(const struct look *look, uint32_t node)
{
	return node != 0 && look->sort != STRAGGLER_GPU_WORK && is_even(look, node);
}

static uint32_t find_most(const struct look *look, uint32_t node)
{
	uint32_t most = 0;

	for (uint32_t child = look->child[node]; child; child = look->sibling[child])
		if (!most || look->excess[child] > look->excess[most])
			most = child;
	return most;
}

/* Returns whether a node's children leave no more of its excess than may be chance. */
static bool is_divided(const struct look *look, uint32_t node)
{
	double rest = look->excess[node] - look->below[node];

	return node == 0 || rest <= look->doubt[node] ||
	       look->below[node] >= STRAGGLER_CAUSES_SHARE * look->excess[node];
}

/* Follows the excess: into the child that holds it, or into each child if it is divided. Otherwise the cause is
 * here. */
static int follow(const struct look *look, struct causes *causes)
{
	uint32_t *open = calloc(look->nr_nodes, sizeof(*open)), nr_open = 0;
	int error = open ? 0 : -ENOMEM;

	if (!error && look->excess[0] > 0)
		open[nr_open++] = 0;
	while (nr_open > 0 && !error) {
		uint32_t node = open[--nr_open], most = find_most(look, node);
		/* Of kernels each counts, also beside one that is more. */
		bool holds_it = most && look->sort != STRAGGLER_GPU_WORK &&
				look->excess[most] >= STRAGGLER_CAUSES_SHARE * look->excess[node];

		if (!most || look->sort == STRAGGLER_RUN_QUEUE || is_new(look, node) ||
		    (!holds_it && (!is_divided(look, node) || is_all_longer(look, node)))) {
			error = add_cause(look, node, causes);
			continue;
		}
		for (uint32_t child = look->child[node]; child; child = look->sibling[child])
			if (!holds_it || child == most)
				open[nr_open++] = child;
	}
	free(open);
	return error;
}

static int look_at(const struct straggler_work *work, const struct straggler_question *question,
		   enum straggler_sort sort, struct causes *causes)
{
	struct look look = {.work = work,
			    .question = question,
			    .sort = sort,
			    .in_windows = straggler_work_in_windows(work, sort)};
	int error = look_init(&look);

	if (!error)
		error = follow(&look, causes);
	if (!error && look.alike.kernels)
		error = add_alike(&look, causes);
	if (!error && sort == STRAGGLER_IDLE && late_of(&look) > 0)
		causes->idle =
			(look.amounts[0].ns / times_of(&look, 0) - median_of(&look, 0, ns_of)) /
			late_of(&look);
	look_fini(&look);
	return error;
}

static int by_excess(const void *a, const void *b)
{
	const struct straggler_cause *x = a, *y = b;

	if (x->effect != y->effect)
		return (x->effect > y->effect) - (x->effect < y->effect);
	if (x->excess_ns != y->excess_ns)
		return x->excess_ns > y->excess_ns ? -1 : 1;
	return strcmp(x->stack, y->stack);
}

/* Returns whether people read the same of two causes. */
static bool is_same(const struct straggler_cause *a, const struct straggler_cause *b)
{
	return !a->kernels && !b->kernels && a->sort == b->sort && a->extent == b->extent &&
	       a->more == b->more && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->what, b->what) == 0;
}

/* Adds causes up that are the same by other callers. They are in order, and the greatest keeps its stack. */
static void join_same(struct causes *causes)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < causes->count; i++) {
		uint32_t j = 0;

		while (j < kept && !is_same(&causes->list[j], &causes->list[i]))
			j++;
		if (j == kept) {
			causes->list[kept++] = causes->list[i];
			continue;
		}
		causes->list[j].excess_ns += causes->list[i].excess_ns;
		causes->list[j].share += causes->list[i].share;
		causes->list[j].launches += causes->list[i].launches;
		straggler_cause_fini(&causes->list[i]);
	}
	causes->count = kept;
}

double straggler_causes_most(const struct straggler_cause *causes, uint32_t nr_causes)
{
	double most = 0;

	for (uint32_t i = 0; i < nr_causes; i++)
		if (causes[i].effect == STRAGGLER_NO_EFFECT && causes[i].share > most)
			most = causes[i].share;
	return most;
}

static double sum_of_gpu(const struct causes *causes)
{
	double sum = 0;

	for (uint32_t i = 0; i < causes->count; i++)
		sum += causes->list[i].sort == STRAGGLER_GPU_WORK ? causes->list[i].share : 0;
	return sum;
}

/* Marks effects of other causes. An idle GPU is always an effect. A wait for another thread of the process is one if
 * another cause counts. PyTorch's backward pass waits in this way for the forward pass. If GPU work explains the
 * lateness, and the GPU did not idle, what the host did meanwhile held up nobody: where it runs ahead, it waits for
 * room in the GPU's queue. */
static void find_effects(struct causes *causes)
{
	const bool by_gpu = sum_of_gpu(causes) >= STRAGGLER_CAUSES_SHARE &&
			    causes->idle < STRAGGLER_CAUSES_ENOUGH;

	for (uint32_t i = 0; i < causes->count; i++) {
		struct straggler_cause *cause = &causes->list[i];

		cause->effect = STRAGGLER_NO_EFFECT;
		if (cause->sort == STRAGGLER_IDLE)
			cause->effect = STRAGGLER_IDLE_EFFECT;
		else if (cause->sort != STRAGGLER_GPU_WORK &&
			 (by_gpu || cause->sort == STRAGGLER_THREAD_WAITS))
			cause->effect = STRAGGLER_HOST_EFFECT;
	}
	double most = straggler_causes_most(causes->list, causes->count);
	for (uint32_t i = 0; i < causes->count && most < STRAGGLER_CAUSES_ENOUGH; i++)
		if (causes->list[i].effect == STRAGGLER_HOST_EFFECT)
			causes->list[i].effect = STRAGGLER_NO_EFFECT;
}

int straggler_causes_find(const struct profile *profile, const char *store_path,
			  const struct collective_folds *folds,
			  const struct straggler_question *question, struct straggler_cause **list,
			  uint32_t *nr_causes, struct straggler_scope *scope)
{
	struct straggler_work *work;
	struct causes causes = {0};

	*list = NULL;
	*nr_causes = 0;
	*scope = (struct straggler_scope){0};
	int error = straggler_work_create(profile, store_path, folds, question, &work);
	if (error)
		return error;
	for (uint32_t i = 0; i < STRAGGLER_SORTS && !error && question->collectives; i++) {
		const bool known = straggler_work_planes(work) & 1u << straggler_work_plane(i);

		scope->is_short |= known && !straggler_work_is_kept(work, i);
		if (known && straggler_work_is_kept(work, i))
			error = look_at(work, question, i, &causes);
	}
	scope->planes = straggler_work_planes(work);
	scope->extent = straggler_work_in_windows(work, STRAGGLER_CPU) ||
					straggler_work_in_windows(work, STRAGGLER_GPU_WORK)
				? question->extent
				: STRAGGLER_RUN;
	scope->late_ns =
		scope->extent == STRAGGLER_RUN ? question->late_ns : question->window_late_ns;
	straggler_work_destroy(work);
	if (error) {
		straggler_causes_free(causes.list, causes.count);
		return error;
	}
	if (causes.count) {
		qsort(causes.list, causes.count, sizeof(*causes.list), by_excess);
		/* Only together may small causes explain enough for others to be effects. */
		join_same(&causes);
		find_effects(&causes);
		qsort(causes.list, causes.count, sizeof(*causes.list), by_excess);
	}
	*list = causes.list;
	*nr_causes = causes.count;
	for (; *nr_causes > STRAGGLER_CAUSES_MAX; --*nr_causes)
		straggler_cause_fini(&causes.list[*nr_causes - 1]);
	return 0;
}

void straggler_causes_free(struct straggler_cause *causes, uint32_t nr_causes)
{
	for (uint32_t i = 0; i < nr_causes; i++)
		straggler_cause_fini(&causes[i]);
	free(causes);
}
