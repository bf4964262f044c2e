#include "run_check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"
#include "run_lines.h"
#include "run_noise.h"
#include "run_step.h"
#include "weighted_median.h"

#include "base/error_text.h"

#define ALIKE_ROWS  4u
#define ALIKE_LEAST 0.002
#define ALIKE_PART  0.25 /* of the median */
#define ALIKE_MOST  0.8  /* of the kernels' time */
#define CAUSE_PART  0.1  /* of the growth of all kernels */

struct checker {
	const struct check_question *question;
	struct check_result *result;
	/* own; by run: how long it is, its time without NCCL's kernels, and all of it */
	double *units, *whole_ns, *all_ns;
	const struct run_item **items; /* owns; of the row, by run; NULL: the run has none */
	struct noise *noises;          /* owns; by row */
	double shown;                  /* steps of the first run; 1: not known */
};

static uint32_t nr_runs(const struct check_question *question)
{
	return question->nr_before + question->nr_after;
}

/* ---- lengths of runs */

/* *is_agreed: more than half of the kernels were launched by nearly *ratio as often. Else a few kernels of much time
 * decide, and nobody knows whether they or the run have changed. */
static int launches_ratio(const struct run_work *before, const struct run_work *after,
			  double *ratio, bool *is_agreed)
{
	struct weighted_value *values = calloc(before->nr_items, sizeof(*values));
	uint32_t count = 0;

	if (!values)
		return -ENOMEM;
	for (uint32_t i = RUN_WORK_ALL + 1; i < before->nr_items; i++) {
		const struct run_item *of = &before->items[i];
		const struct run_item *other = run_work_find(after, of);

		if (of->kind == RUN_KIND_KERNEL && other && of->count && other->count)
			values[count++] =
				(struct weighted_value){(double)other->count / (double)of->count,
							(double)of->ns + (double)other->ns};
	}
	*ratio = weighted_median(values, count);
	uint32_t nr_near = 0;
	for (uint32_t i = 0; i < count; i++)
		nr_near += fabs(values[i].value / *ratio - 1) <= RUN_SCALE_NEAR;
	*is_agreed = count == 0 || 2 * nr_near > count;
	free(values);
	return 0;
}

static int find_lengths(struct checker *checker, char **error)
{
	const struct check_question *question = checker->question;
	const struct run_work *first = question->runs[0];

	for (uint32_t i = 0; i < nr_runs(question); i++) {
		const struct run_work *work = question->runs[i];
		double launches = 0;
		bool is_agreed;

		checker->result->lossy |= work->lossy;
		/* What is missing may be all that tells the GPUs. */
		if (!checker->result->lossy && strcmp(work->device, first->device) != 0)
			return error_text_set(error, -EINVAL,
					      "the runs had different GPUs: %s, and %s",
					      *first->device ? first->device : "unknown ones",
					      *work->device ? work->device : "unknown ones");
		if (launches_ratio(first, work, &launches, &is_agreed))
			return -ENOMEM;
		if (launches == 0 && !checker->result->lossy)
			return error_text_set(error, -EINVAL, "the runs have no kernel in common");
		struct run_scale scale = run_scale_choose(&first->counts, &work->counts, launches);
		checker->units[i] = scale.factor;
		checker->result->unclear |= scale.unit == RUN_LAUNCHES && !is_agreed;
		if (i == 0 || scale.unit > checker->result->unit) {
			checker->result->unit = scale.unit;
			checker->shown = scale.before;
		}
		for (uint32_t j = RUN_WORK_ALL + 1; j < work->nr_items; j++) {
			checker->all_ns[i] += (double)work->items[j].ns;
			if (!work->items[j].is_nccl)
				checker->whole_ns[i] += (double)work->items[j].ns;
		}
	}
	if (checker->result->unit >= RUN_LAUNCHES) {
		checker->shown = 1;
		for (uint32_t i = 0; i < nr_runs(question); i++)
			checker->result->scaled |= checker->units[i] != 1;
	}
	return 0;
}

/* ---- rows */

/* Finds the item of a row in all runs. Returns in how many runs of a side it is. */
static uint32_t find_items(struct checker *checker, const struct run_item *like, bool after)
{
	const struct check_question *question = checker->question;
	const uint32_t from = after ? question->nr_before : 0;
	const uint32_t to = after ? nr_runs(question) : question->nr_before;
	uint32_t count = 0;

	for (uint32_t i = from; i < to; i++) {
		checker->items[i] = run_work_find(question->runs[i], like);
		if (checker->items[i] && !checker->items[i]->count)
			checker->items[i] = NULL;
		count += checker->items[i] != NULL;
	}
	return count;
}

static double mean_of(const struct checker *checker, bool after,
		      double (*value)(const struct checker *checker, uint32_t run))
{
	const struct check_question *question = checker->question;
	const uint32_t from = after ? question->nr_before : 0;
	const uint32_t nr = after ? question->nr_after : question->nr_before;
	double sum = 0;

	for (uint32_t i = from; i < from + nr; i++)
		sum += checker->items[i] ? value(checker, i) : 0;
	return sum / nr;
}

static double share(const struct checker *checker, uint32_t run)
{
	return checker->whole_ns[run] > 0 ? (double)checker->items[run]->ns / checker->whole_ns[run]
					  : 0;
}

static double share_of_all(const struct checker *checker, uint32_t run)
{
	return checker->all_ns[run] > 0 ? (double)checker->items[run]->ns / checker->all_ns[run]
					: 0;
}

static double time_of_unit(const struct checker *checker, uint32_t run)
{
	return (double)checker->items[run]->ns / (checker->units[run] * checker->shown);
}

static double log_time(const struct checker *checker, uint32_t run)
{
	return log(fmax((double)checker->items[run]->ns, 1) / checker->units[run]);
}

static double log_count(const struct checker *checker, uint32_t run)
{
	return log((double)checker->items[run]->count / checker->units[run]);
}

static double log_duration(const struct checker *checker, uint32_t run)
{
	return log(fmax((double)checker->items[run]->ns, 1) / (double)checker->items[run]->count);
}

static double difference(const struct checker *checker,
			 double (*value)(const struct checker *checker, uint32_t run))
{
	return mean_of(checker, true, value) - mean_of(checker, false, value);
}

/* ---- noise */

static bool noise_of_runs(const struct checker *checker, struct noise *noise)
{
	const struct check_question *question = checker->question;
	struct noise_side sides[2] = {0};

	for (uint32_t i = 0; i < nr_runs(question); i++)
		noise_side_add(&sides[i >= question->nr_before], log_time(checker, i));
	return noise_of_sides(&sides[0], &sides[1], noise);
}

static bool noise_of_side(const struct checker *checker, bool after,
			  bool (*of_run)(const struct run_work *work, const struct run_item *item,
					 struct noise *noise),
			  struct noise *noise)
{
	const struct check_question *question = checker->question;
	const uint32_t from = after ? question->nr_before : 0;
	const uint32_t nr = after ? question->nr_after : question->nr_before;

	*noise = (struct noise){.freedom = INFINITY};
	for (uint32_t i = from; i < from + nr; i++) {
		struct noise of;

		if (!of_run(question->runs[i], checker->items[i], &of))
			return false;
		of.deviation /= nr;
		of.bound /= nr;
		*noise = noise_add(*noise, of);
	}
	return true;
}

static bool noise_within(const struct checker *checker,
			 bool (*of_run)(const struct run_work *work, const struct run_item *item,
					struct noise *noise),
			 struct noise *noise)
{
	struct noise before, after;

	if (!noise_of_side(checker, false, of_run, &before) ||
	    !noise_of_side(checker, true, of_run, &after))
		return false;
	*noise = noise_add(before, after);
	return true;
}

static int find_noise(struct checker *checker, struct check_row *row, struct noise *noise)
{
	const struct check_question *question = checker->question;
	struct noise ranks;

	row->source = CHECK_FROM_RUNS;
	if (noise_of_runs(checker, noise))
		return 0;
	row->source = CHECK_FROM_WINDOWS;
	if (!noise_within(checker, run_noise_of_windows, noise)) {
		row->source = CHECK_FROM_LAUNCHES;
		if (!noise_within(checker, run_noise_of_launches, noise)) {
			row->source = CHECK_FROM_NOTHING;
			*noise = (struct noise){INFINITY, INFINITY, 0};
		}
	}
	if (nr_runs(question) == 2 && !checker->result->other_gpus) {
		int found = run_noise_of_ranks(question->runs[0], checker->items[0],
					       question->runs[1], checker->items[1], &ranks);

		if (found < 0)
			return found;
		if (found && (row->source == CHECK_FROM_LAUNCHES ||
			      noise_width(&ranks, RUN_CHECK_ALARMS) >
				      noise_width(noise, RUN_CHECK_ALARMS))) {
			row->source = CHECK_FROM_RANKS;
			*noise = ranks;
		}
	}
	/* Launches that all take equally long are simulated. */
	if (noise->deviation > 0)
		noise->bound += checker->result->other_gpus          ? RUN_CHECK_OTHER_GPU
				: row->source == CHECK_FROM_LAUNCHES ? RUN_CHECK_UNSEEN_DRIFT
								     : RUN_CHECK_UNSEEN;
	return 0;
}

/* Equal sums are those of one and the same run. */
static bool is_equal(const struct checker *checker)
{
	return nr_runs(checker->question) == 2 && checker->items[0]->ns == checker->items[1]->ns &&
	       checker->items[0]->count == checker->items[1]->count &&
	       checker->units[0] == checker->units[1];
}

/* ---- making rows */

/* Makes the row of an item, not judged yet. */
static struct check_row make_row(struct checker *checker, const struct run_item *item)
{
	const struct check_question *question = checker->question;
	const uint32_t before = find_items(checker, item, false);
	const uint32_t after = find_items(checker, item, true);
	struct check_row row = {
		.name = item->name,
		.kind = item->kind,
		.share = fmax(mean_of(checker, false, share), mean_of(checker, true, share)),
		.share_after = after ? mean_of(checker, true, share_of_all) : NAN,
		.before_ns = mean_of(checker, false, time_of_unit),
		.after_ns = mean_of(checker, true, time_of_unit),
		.change = NAN,
		.count_change = NAN,
		.duration_change = NAN,
		.low = NAN,
		.high = NAN,
		.resolves = NAN};

	row.line = run_lines_grown(&(struct run_lines_question){checker->items, checker->units,
								question->nr_before,
								question->nr_after},
				   &row.line_part);
	row.state = !before ? CHECK_NEW : !after ? CHECK_VANISHED : CHECK_NOT_JUDGED;
	if (before < question->nr_before || after < question->nr_after)
		return row;
	row.change = expm1(difference(checker, log_time));
	row.count_change = expm1(difference(checker, log_count));
	row.duration_change = expm1(difference(checker, log_duration));
	if (!item->is_nccl)
		row.state = CHECK_SAME;
	return row;
}

/* Adds a row if its share, or that of all kernels, is to be judged. */
static int add_row(struct checker *checker, const struct run_item *item)
{
	struct check_result *result = checker->result;
	struct check_row *row = &result->rows[result->nr_rows];

	*row = make_row(checker, item);
	if (row->share < checker->question->min_share && item->kind != RUN_KIND_ALL)
		return 0;
	struct noise *noise = &checker->noises[result->nr_rows++];
	*noise = (struct noise){.freedom = INFINITY};
	return row->state != CHECK_SAME || is_equal(checker) ? 0 : find_noise(checker, row, noise);
}

/* Adds a row that is too small to be judged, if it explains why all kernels have regressed. */
static int add_cause(struct checker *checker, const struct run_item *item)
{
	struct check_result *result = checker->result;
	const double whole_ns = result->rows[0].after_ns - result->rows[0].before_ns;
	struct check_row row = make_row(checker, item);

	if (item->kind != RUN_KIND_KERNEL || item->is_nccl ||
	    row.share >= checker->question->min_share ||
	    row.after_ns - row.before_ns < CAUSE_PART * whole_ns)
		return 0;
	row.is_cause = true;
	if (row.state == CHECK_SAME)
		row.state = CHECK_NOT_JUDGED;
	result->rows[result->nr_rows++] = row;
	return 0;
}

/* Offers each kind and name once: the first run that has it gives it. */
static int each_item(struct checker *checker,
		     int (*add)(struct checker *checker, const struct run_item *item))
{
	const struct check_question *question = checker->question;

	for (uint32_t i = 0; i < nr_runs(question); i++)
		for (uint32_t j = 0; j < question->runs[i]->nr_items; j++) {
			const struct run_item *item = &question->runs[i]->items[j];
			bool known = false;

			for (uint32_t k = 0; k < i && !known; k++)
				known = run_work_find(question->runs[k], item) != NULL;
			if (known)
				continue;
			int error = add(checker, item);
			if (error)
				return error;
		}
	return 0;
}

static int add_rows(struct checker *checker)
{
	const struct check_question *question = checker->question;
	uint64_t most = 1;

	for (uint32_t i = 0; i < nr_runs(question); i++)
		most += question->runs[i]->nr_items;
	checker->result->rows = calloc(most, sizeof(*checker->result->rows));
	checker->noises = calloc(most, sizeof(*checker->noises));
	if (!checker->result->rows || !checker->noises)
		return -ENOMEM;
	return each_item(checker, add_row);
}

/* ---- verdicts */

static bool is_judged(const struct check_row *row)
{
	return row->state <= CHECK_NOISY;
}

static void judge_row(const struct checker *checker, struct check_row *row,
		      const struct noise *noise, uint32_t nr_judged)
{
	row->resolves = expm1(noise_width(noise, RUN_CHECK_ALARMS / nr_judged) +
			      noise_width(noise, RUN_CHECK_MISSES));
	row->state = run_verdict_judge(checker->question, noise, row->change, nr_judged, &row->low,
				       &row->high);
}

static void judge(struct checker *checker)
{
	struct check_result *result = checker->result;
	uint32_t nr_judged = 0;

	for (uint32_t i = 0; i < result->nr_rows; i++)
		nr_judged += is_judged(&result->rows[i]);
	run_step_compare(checker->question, result->unit, result->lossy, nr_judged + 1,
			 &result->step);
	nr_judged += result->step.is_known;
	for (uint32_t i = 0; i < result->nr_rows; i++) {
		struct check_row *row = &result->rows[i];

		if (!is_judged(row))
			continue;
		judge_row(checker, row, &checker->noises[i], nr_judged);
		result->nr_faster += row->state == CHECK_FASTER;
		result->nr_regressed += row->state == CHECK_REGRESSED;
		result->nr_noisy += row->state == CHECK_NOISY;
	}
	const bool regressed = result->nr_regressed || result->step.state == CHECK_REGRESSED;
	const bool faster = result->nr_faster || result->step.state == CHECK_FASTER;
	const bool is_noisy = result->nr_noisy || result->step.is_doubtful;
	const bool is_unlike = result->lossy || result->unclear || result->other_size;
	result->verdict = is_unlike || (!regressed && is_noisy) ? CHECK_NOISY
			  : regressed                           ? CHECK_REGRESSED
			  : faster                              ? CHECK_FASTER
								: CHECK_SAME;
}

/* Finds a change of duration that most kernels share. */
static int find_alike(struct check_result *result)
{
	struct weighted_value *values = calloc(result->nr_rows + 1ul, sizeof(*values));
	double near = 0, whole = 0;
	uint32_t count = 0;

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 1; i < result->nr_rows; i++)
		if (is_judged(&result->rows[i]))
			values[count++] = (struct weighted_value){result->rows[i].duration_change,
								  result->rows[i].share};
	const double median = weighted_median(values, count);
	for (uint32_t i = 0; i < count; i++) {
		whole += values[i].weight;
		if (fabs(values[i].value - median) <= ALIKE_PART * fabs(median))
			near += values[i].weight;
	}
	if (count >= ALIKE_ROWS && fabs(median) > ALIKE_LEAST && near >= ALIKE_MOST * whole)
		result->alike = median;
	free(values);
	return 0;
}

/* Rows but the first one. */
static int by_share(const void *a, const void *b)
{
	const struct check_row *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* ---- the whole */

static void find_gpus(struct checker *checker)
{
	const struct run_work *first = checker->question->runs[0];

	/* A run of which nothing was recorded has none. */
	for (uint32_t i = 1; i < nr_runs(checker->question); i++)
		checker->result->other_gpus |=
			first->nr_members && checker->question->runs[i]->nr_members &&
			!run_noise_same_gpus(first, checker->question->runs[i]);
}

/* Work is shared out among ranks, so that the time of a rank tells nothing of a run with more of them. */
static void find_size(struct checker *checker)
{
	const enum run_unit unit = checker->result->unit;
	const struct run_work *first = NULL;

	for (uint32_t i = 0; i < nr_runs(checker->question); i++) {
		const struct run_work *work = checker->question->runs[i];

		if (!work->nr_members)
			continue;
		first = first ? first : work;
		checker->result->other_size |=
			run_work_ranks(work, unit) != run_work_ranks(first, unit) ||
			work->nr_gpus != first->nr_gpus;
	}
}

int run_check_create(const struct check_question *question, struct check_result **result,
		     char **error)
{
	const uint32_t nr = nr_runs(question);
	struct checker checker = {
		.question = question,
		.result = calloc(1, sizeof(*checker.result)),
		.units = calloc(nr, sizeof(*checker.units)),
		.whole_ns = calloc(nr, sizeof(*checker.whole_ns)),
		.all_ns = calloc(nr, sizeof(*checker.all_ns)),
		.items = calloc(nr, sizeof(*checker.items)),
	};
	int status = -ENOMEM;

	*result = NULL;
	*error = NULL;
	if (checker.result && checker.units && checker.whole_ns && checker.all_ns && checker.items)
		status = find_lengths(&checker, error);
	if (status == 0) {
		find_gpus(&checker);
		find_size(&checker);
		status = add_rows(&checker);
	}
	if (status == 0) {
		judge(&checker);
		status = find_alike(checker.result);
	}
	if (status == 0 && checker.result->rows[0].state == CHECK_REGRESSED) {
		status = each_item(&checker, add_cause);
	}
	if (status == 0 && checker.result->nr_rows > 1)
		qsort(checker.result->rows + 1, checker.result->nr_rows - 1,
		      sizeof(*checker.result->rows), by_share);
	free(checker.units);
	free(checker.whole_ns);
	free(checker.all_ns);
	free(checker.items);
	free(checker.noises);
	if (status)
		run_check_destroy(checker.result);
	else
		*result = checker.result;
	return status;
}

void run_check_destroy(struct check_result *result)
{
	if (!result)
		return;
	free(result->rows);
	free(result);
}

const char *check_source_name(enum check_source source)
{
	static const char *const names[CHECK_SOURCES] = {"nothing", "runs", "ranks", "windows",
							 "launches"};

	return names[source];
}

const char *check_state_name(enum check_state state)
{
	static const char *const names[CHECK_STATES] = {
		"same", "faster", "regressed", "too noisy", "new", "vanished", "not judged"};

	return names[state];
}
