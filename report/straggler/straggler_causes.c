#include "straggler_causes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_work.h"

#include "base/array.h"
#include "report/model/report_tree.h"
#include "report/names/cuda_name.h"
#include "report/names/robust.h"

#define EFFECT_SHARE 0.25 /* of the lateness; another cause must explain at least this much */
#define SPREADS      3.0  /* spreads of the others that an excess must exceed */
#define PART_MIN     0.02 /* of the lateness; the excess must also exceed this */
#define LONGER       1.02 /* a launch that takes this factor more is a longer one */
#define CUT_STACK    "…;"
#define STACK_MAX    12u /* innermost frames that a shown stack has */

#define FUTEX "futex"

/* The parts that are examined one by one. Waits for another thread follow from that thread's work, so they are kept
 * apart from other waits. */
static const struct straggler_part parts[] = {
	{.plane = REPORT_PLANE_GPU},
	{.plane = REPORT_PLANE_CPU},
	{.plane = REPORT_PLANE_OFF_CPU, .leaf = "[Off-CPU]" FUTEX, .but_leaf = true},
	{.plane = REPORT_PLANE_OFF_CPU, .leaf = "[Off-CPU]" FUTEX},
	{.plane = REPORT_PLANE_IDLE},
};

/* The examination of one part. */
struct look {
	const struct straggler_work *work;
	const struct straggler_question *question;
	const struct straggler_part *part;
	enum report_plane plane;
	bool in_windows;
	uint32_t nr_nodes;
	struct straggler_amount *amounts;
	double *excess; /* owns; for each node and below, per collective; 0: it may be chance */
	double *below;  /* owns; sum over its children */
	uint32_t *child, *sibling; /* owns; 0: none */
	double *values;            /* owns; the other ranks' values */
	double period_ns;          /* period of samples on the CPU */
};

struct causes {
	struct straggler_cause *list; /* owns */
	uint32_t count, room;
};

/* Returns the divisor of a party's sums. */
static double times_of(const struct look *look, uint32_t party)
{
	return look->in_windows ? (double)look->question->parties[party].nr_windows
				: (double)look->question->collectives;
}

static double late_of(const struct look *look)
{
	return look->in_windows ? (double)look->question->window_late_ns
				: (double)look->question->late_ns;
}

static double median_ns(const struct look *look, uint32_t node)
{
	const uint32_t width = look->question->nr_parties;

	for (uint32_t i = 1; i < width; i++)
		look->values[i - 1] =
			look->amounts[(size_t)node * width + i].ns / times_of(look, i);
	return robust_median(look->values, width - 1);
}

static double median_count(const struct look *look, uint32_t node)
{
	const uint32_t width = look->question->nr_parties;

	for (uint32_t i = 1; i < width; i++)
		look->values[i - 1] =
			look->amounts[(size_t)node * width + i].count / times_of(look, i);
	return robust_median(look->values, width - 1);
}

/* Returns the late rank's amount above the others'; 0: it may be chance. */
static double own_excess(const struct look *look, uint32_t node)
{
	const struct straggler_amount *late =
		&look->amounts[(size_t)node * look->question->nr_parties];
	double median = median_ns(look, node);
	double more = late->ns / times_of(look, 0) - median;

	if (more <= PART_MIN * late_of(look) || more <= 0)
		return 0;
	double noise = robust_spread(look->values, look->question->nr_parties - 1);
	/* Of n samples of a clock the error is the root of n. */
	double sampling = look->plane == REPORT_PLANE_CPU
				  ? sqrt(late->ns * look->period_ns) / times_of(look, 0)
				  : 0;
	if (sampling > noise)
		noise = sampling;
	return more > SPREADS * noise ? more : 0;
}

static int look_init(struct look *look)
{
	look->nr_nodes = straggler_work_nodes(look->work);
	look->amounts = straggler_work_sum(look->work, look->part);
	look->excess = calloc(look->nr_nodes, sizeof(*look->excess));
	look->below = calloc(look->nr_nodes, sizeof(*look->below));
	look->child = calloc(look->nr_nodes, sizeof(*look->child));
	look->sibling = calloc(look->nr_nodes, sizeof(*look->sibling));
	look->values = calloc(look->question->nr_parties, sizeof(*look->values));
	if (!look->amounts || !look->excess || !look->below || !look->child || !look->sibling ||
	    !look->values)
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
	free(look->child);
	free(look->sibling);
	free(look->values);
}

/* ---- in words */

/* For example "libc.so.6+0x98e51". */
static bool is_address(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus && plus > name && strncmp(plus, "+0x", 3) == 0 &&
	       plus[3 + strspn(plus + 3, "0123456789abcdef")] == '\0';
}

/* Returns whether a name is a function of the program. The kernel's own frames, CUDA's calls, words in brackets, and
 * code without a name are not. A C function whose name contains the reason of the wait (poll, __poll, futex_wait) says
 * no more than the reason, and does not count. */
static bool is_function(const char *name, const char *what)
{
	size_t size = strlen(name);

	if (size == 0 || name[0] == '[' || is_address(name) ||
	    cuda_name_of(name, size) != CUDA_NAME_NONE ||
	    (size >= 4 && strcmp(name + size - 4, "_[k]") == 0))
		return false;
	return !*what || !strstr(name, what) || strchr(name, ':');
}

/* Returns "sleep" for the reason "sleep", and for "[Off-CPU]sleep" during idle time. */
static const char *reason_of(enum report_plane plane, const char *what)
{
	if (plane != REPORT_PLANE_IDLE)
		return what && plane == REPORT_PLANE_OFF_CPU ? what : "";
	return what && strncmp(what, "[Off-CPU]", 9) == 0 ? what + 9 : "";
}

static char *name_function(const struct look *look, uint32_t node, const char *what)
{
	for (; node; node = straggler_work_parent(look->work, node))
		if (!straggler_work_is_leaf(look->work, node) &&
		    is_function(straggler_work_name(look->work, node), what))
			return strdup(straggler_work_name(look->work, node));
	return strdup("");
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
			      median_ns(look, leaf);
		while (above > node)
			above = straggler_work_parent(look->work, above);
		if (above == node && more > most) {
			most = more;
			found = leaf;
		}
	}
	return found;
}

/* "[GPU?_Kernel]gemm" is called gemm, and "[Off-CPU]futex" futex. Idle time is called by the frame above the leaf. */
static char *name_what(const struct look *look, uint32_t node)
{
	uint32_t leaf = find_leaf(look, node);

	if (look->plane == REPORT_PLANE_IDLE)
		return strdup(
			straggler_work_name(look->work, straggler_work_parent(look->work, leaf)));
	const char *name = straggler_work_name(look->work, leaf);
	const char *end = name[0] == '[' ? strchr(name, ']') : NULL;
	if (!end)
		return strdup("");
	return strdup(look->plane == REPORT_PLANE_GPU && !strstr(name, "_Kernel]") ? name
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
	double count = median_count(look, node), ns = median_ns(look, node);

	cause->launches = late->count / times_of(look, 0) - count;
	cause->more = late->count > 0 && count > 0 && late->ns / late->count < LONGER * ns / count;
	cause->more = cause->more || (late->count > 0 && count <= 0);
}

static int add_cause(const struct look *look, uint32_t node, struct causes *causes)
{
	if (array_reserve(&causes->list, &causes->room, causes->count + 1, sizeof(*causes->list)))
		return -ENOMEM;
	struct straggler_cause *cause = &causes->list[causes->count++];
	*cause = (struct straggler_cause){
		.plane = look->plane,
		.in_windows = look->in_windows,
		.excess_ns = (uint64_t)llround(look->excess[node]),
		.share = late_of(look) > 0 ? look->excess[node] / late_of(look) : 0,
		.what = name_what(look, node),
		.stack = name_stack(look, node),
	};
	cause->function = name_function(look, node, reason_of(look->plane, cause->what));
	if (look->plane == REPORT_PLANE_GPU)
		compare_launches(look, node, cause);
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
	double excess = 0, others = 0, apart = 0;

	for (uint32_t child = look->child[node]; child; child = look->sibling[child]) {
		excess += look->excess[child];
		others += median_ns(look, child);
	}
	if (excess <= 0 || others <= 0)
		return false;
	for (uint32_t child = look->child[node]; child; child = look->sibling[child])
		apart += fabs(look->excess[child] / excess - median_ns(look, child) / others);
	return apart / 2 < STRAGGLER_CAUSES_UNEVEN;
}

/* Returns whether a node is one cause together with all that it calls. Each kernel is a cause by itself. */
static bool is_whole(const struct look *look, uint32_t node)
{
	return node != 0 && look->plane != REPORT_PLANE_GPU &&
	       (begins_extra(look, node) || is_even(look, node));
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
		uint32_t node = open[--nr_open], most = 0;
		double enough = STRAGGLER_CAUSES_SHARE * look->excess[node];

		for (uint32_t child = look->child[node]; child; child = look->sibling[child])
			if (!most || look->excess[child] > look->excess[most])
				most = child;
		if (most && look->excess[most] >= enough) {
			open[nr_open++] = most;
		} else if (most && (look->below[node] >= enough || node == 0) &&
			   !is_whole(look, node)) {
			for (uint32_t child = look->child[node]; child;
			     child = look->sibling[child])
				open[nr_open++] = child;
		} else {
			error = add_cause(look, node, causes);
		}
	}
	free(open);
	return error;
}

static int look_at(const struct straggler_work *work, const struct straggler_question *question,
		   const struct straggler_part *part, struct causes *causes)
{
	bool host = part->plane == REPORT_PLANE_CPU || part->plane == REPORT_PLANE_OFF_CPU;
	struct look look = {.work = work,
			    .question = question,
			    .part = part,
			    .plane = part->plane,
			    .in_windows = host && straggler_work_in_windows(work)};
	int error = look_init(&look);

	if (!error)
		error = follow(&look, causes);
	look_fini(&look);
	return error;
}

static int by_excess(const void *a, const void *b)
{
	const struct straggler_cause *x = a, *y = b;

	if (x->is_effect != y->is_effect)
		return x->is_effect - y->is_effect;
	if (x->excess_ns != y->excess_ns)
		return x->excess_ns > y->excess_ns ? -1 : 1;
	return strcmp(x->stack, y->stack);
}

/* Marks effects of other causes. An idle GPU is always an effect. A wait for another thread of the process is one if
 * another cause counts. PyTorch's backward pass waits in this way for the forward pass. */
static void find_effects(struct causes *causes)
{
	double most = 0;

	for (uint32_t i = 0; i < causes->count; i++) {
		struct straggler_cause *cause = &causes->list[i];

		cause->is_effect = cause->plane == REPORT_PLANE_IDLE
					   ? 2
					   : cause->plane == REPORT_PLANE_OFF_CPU &&
						     !strcmp(cause->what, FUTEX);
		if (!cause->is_effect && cause->share > most)
			most = cause->share;
	}
	for (uint32_t i = 0; i < causes->count && most < EFFECT_SHARE; i++)
		if (causes->list[i].is_effect == 1)
			causes->list[i].is_effect = 0;
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
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !error; i++)
		if (straggler_work_planes(work) & 1u << parts[i].plane && question->collectives)
			error = look_at(work, question, &parts[i], &causes);
	scope->planes = straggler_work_planes(work);
	scope->in_windows = straggler_work_in_windows(work);
	scope->late_ns = question->late_ns;
	straggler_work_destroy(work);
	if (error) {
		straggler_causes_free(causes.list, causes.count);
		return error;
	}
	find_effects(&causes);
	if (causes.count)
		qsort(causes.list, causes.count, sizeof(*causes.list), by_excess);
	*list = causes.list;
	*nr_causes = causes.count;
	for (; *nr_causes > STRAGGLER_CAUSES_MAX; --*nr_causes) {
		struct straggler_cause *cause = &causes.list[*nr_causes - 1];

		free(cause->function);
		free(cause->what);
		free(cause->stack);
	}
	return 0;
}

void straggler_causes_free(struct straggler_cause *causes, uint32_t nr_causes)
{
	for (uint32_t i = 0; i < nr_causes; i++) {
		free(causes[i].function);
		free(causes[i].what);
		free(causes[i].stack);
	}
	free(causes);
}
