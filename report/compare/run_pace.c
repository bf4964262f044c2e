#include "run_pace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/kept_log.h"
#include "base/array.h"
#include "report/digest/host_lines.h"
#include "report/model/report_build.h"
#include "report/model/report_busy.h"
#include "report/model/report_dimension.h"
#include "report/names/source_name.h"

/* A pause, as in profile_idle.c: so many tenths, and a tenth of the whole time. Where few windows are kept, three empty
 * ones in that time are enough. */
#define PAUSE_TENTHS 10u
#define PAUSE_EMPTY  3u
#define TENTHS_MOST  (1u << 26) /* some months; more are damage */

static int by_number(const void *a, const void *b)
{
	const struct run_window *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Returns how many tenths between two are kept, and so are empty. */
static uint64_t empty_between(uint64_t from, uint64_t to, uint32_t level)
{
	uint64_t empty = 0;

	for (uint64_t i = from + 1; i < to; i++)
		empty += kept_window_level(i) >= level;
	return empty;
}

/* Adds what lies between two tenths that are apart by a pause: the parts of these tenths do not count. */
static int add_stretch(struct run_pace *pace, const struct run_window *windows, uint32_t nr,
		       uint32_t level)
{
	for (uint32_t i = 1; i + 1 < nr; i++) {
		const uint64_t empty =
			empty_between(windows[i].number, windows[i + 1].number, level);

		if (array_reserve(&pace->tenths, &pace->room, pace->nr_tenths + 1ul,
				  sizeof(*pace->tenths)))
			return -ENOMEM;
		struct run_window *tenth = &pace->tenths[pace->nr_tenths++];
		*tenth = windows[i];
		tenth->ns = (double)KEPT_LOG_GPU_NS * (double)(1 + empty);
		pace->wall_ns += tenth->ns;
		pace->work_ns += tenth->usual_ns;
	}
	return 0;
}

int run_pace_add(struct run_pace *pace, const struct run_window *windows, uint32_t nr)
{
	uint32_t level = KEPT_WINDOW_LEVELS, from = 0;
	int error = 0;

	if (nr && windows[nr - 1].number - windows[0].number > TENTHS_MOST)
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t of = kept_window_level(windows[i].number);

		level = of < level ? of : level;
	}
	for (uint32_t i = 0; i < nr && !error; i++) {
		const uint64_t last = windows[nr - 1].number, at = windows[i].number;
		const uint64_t next = i + 1 < nr ? windows[i + 1].number : at;
		const uint64_t pause = (last - windows[0].number) / 10;
		const bool is_long = next - at > PAUSE_TENTHS && next - at > pause;

		if (i + 1 < nr && !(is_long && empty_between(at, next, level) >= PAUSE_EMPTY))
			continue;
		error = add_stretch(pace, windows + from, i + 1 - from, level);
		from = i + 1;
	}
	return error;
}

void run_pace_finish(struct run_pace *pace)
{
	uint32_t count = 0;

	if (pace->nr_tenths)
		qsort(pace->tenths, pace->nr_tenths, sizeof(*pace->tenths), by_number);
	for (uint32_t i = 0; i < pace->nr_tenths; i++) {
		const struct run_window *tenth = &pace->tenths[i];

		if (count && pace->tenths[count - 1].number == tenth->number) {
			pace->tenths[count - 1].ns += tenth->ns;
			pace->tenths[count - 1].usual_ns += tenth->usual_ns;
		} else {
			pace->tenths[count++] = *tenth;
		}
	}
	pace->nr_tenths = count;
}

/* ---- idle time */

static int is_in_step(const void *context, const struct report_leaf *leaf)
{
	(void)context;
	return !leaf->is_pause;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct run_idle *)a)->name, ((const struct run_idle *)b)->name);
}

static int add_line(struct run_pace *pace, const struct host_line *line, const char *name)
{
	struct run_idle *idle = &pace->idle[pace->nr_idle];

	idle->name = strdup(name);
	idle->line = strdup(line->text);
	idle->ns = idle->line_ns = line->ns;
	pace->nr_idle++;
	if (!idle->name || !idle->line)
		return -ENOMEM;
	if (source_name_has_line(idle->name))
		*strrchr(idle->name, ':') = '\0';
	return 0;
}

static void merge_lines(struct run_pace *pace)
{
	uint32_t count = 0;

	if (pace->nr_idle)
		qsort(pace->idle, pace->nr_idle, sizeof(*pace->idle), by_name);
	for (uint32_t i = 0; i < pace->nr_idle; i++) {
		struct run_idle *of = &pace->idle[i], *last = count ? &pace->idle[count - 1] : NULL;

		if (!last || by_name(last, of) != 0) {
			pace->idle[count++] = *of;
			continue;
		}
		last->ns += of->ns;
		if (of->line_ns > last->line_ns) {
			char *line = last->line;

			last->line = of->line;
			last->line_ns = of->line_ns;
			of->line = line;
		}
		free(of->name);
		free(of->line);
	}
	pace->nr_idle = count;
}

static int take_idle(struct run_pace *pace, const struct report_tree *tree)
{
	struct host_lines lines;
	int error = host_lines_init(&lines, tree, REPORT_PLANE_IDLE, is_in_step, NULL);

	if (!error)
		error = host_lines_add_callers(&lines, tree, REPORT_PLANE_IDLE);
	pace->idle_ns = lines.ns;
	pace->idle = error ? NULL : calloc(lines.nr_lines + 1ul, sizeof(*pace->idle));
	if (!pace->idle)
		error = -ENOMEM;
	for (uint32_t i = 0; i < lines.nr_lines && !error; i++)
		error = add_line(pace, &lines.lines[i], tree->strings[lines.lines[i].name]);
	if (!error)
		merge_lines(pace);
	host_lines_fini(&lines);
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		if (i == 0)
			pace->gpu = tree->leaves[i].gpu;
		else if (tree->leaves[i].gpu != pace->gpu ||
			 tree->leaves[i].host != tree->leaves[0].host)
			pace->gpu = REPORT_GPU_NONE;
	return error;
}

static int read_busy(struct run_pace *pace, const struct profile *profile)
{
	struct report_busy *busy;
	int error = report_busy_create(profile, &busy);

	for (uint32_t i = 0; !error && i < busy->nr_rows; i++) {
		if (!busy->rows[i].whole_device || !busy->rows[i].busy_ns)
			continue;
		pace->busy_ns += busy->rows[i].busy_ns;
		pace->nr_gpus++;
	}
	report_busy_destroy(busy);
	return error;
}

int run_pace_read_idle(struct run_pace *pace, const struct profile *profile)
{
	const struct report_options options = {
		.planes = 1u << REPORT_PLANE_IDLE,
		.lines = REPORT_LINES_ON,
		.leaves_most = 1,
		.leaves_kept = 1u << REPORT_BY_HOST | 1u << REPORT_BY_GPU,
	};
	struct report_tree *tree;
	int error = report_tree_build(profile, &options, &tree);

	pace->gpu = REPORT_GPU_NONE;
	if (error)
		return error;
	error = take_idle(pace, tree);
	report_tree_destroy(tree);
	if (!error && pace->idle_ns)
		error = read_busy(pace, profile);
	return error;
}

const struct run_idle *run_pace_find(const struct run_pace *pace, const char *name)
{
	const struct run_idle like = {.name = (char *)name};

	return pace->nr_idle
		       ? bsearch(&like, pace->idle, pace->nr_idle, sizeof(*pace->idle), by_name)
		       : NULL;
}

void run_pace_fini(struct run_pace *pace)
{
	for (uint32_t i = 0; i < pace->nr_idle; i++) {
		free(pace->idle[i].name);
		free(pace->idle[i].line);
	}
	free(pace->idle);
	free(pace->tenths);
	memset(pace, 0, sizeof(*pace));
}
