#include "run_pace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"

#include "aggregator/profile/kept_log.h"
#include "base/array.h"
#include "report/digest/host_lines.h"
#include "report/digest/marked_steps.h"
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

/* A run tells its noise by so many tenths, two of which are parts. */
#define LONG_NS ((NOISE_BATCHES_MIN + 2ull) * KEPT_LOG_GPU_NS)

/* Returns how many windows between two are kept, and so are empty. */
static uint64_t empty_between(uint64_t from, uint64_t to, uint32_t level, uint32_t parts)
{
	uint64_t empty = 0;

	for (uint64_t i = from + 1; i < to; i++)
		empty += kept_window_level(i / parts) >= level;
	return empty;
}

/* Adds what lies between two windows that are apart by a pause: the parts of these windows do not count. */
static int add_stretch(struct run_stretch *of, const struct run_window *windows, uint32_t nr,
		       uint32_t level, uint32_t parts)
{
	for (uint32_t i = 1; i + 1 < nr; i++) {
		const uint64_t empty =
			empty_between(windows[i].number, windows[i + 1].number, level, parts);

		if (array_reserve(&of->windows, &of->room, of->nr_windows + 1ul,
				  sizeof(*of->windows)))
			return -ENOMEM;
		struct run_window *window = &of->windows[of->nr_windows++];
		*window = windows[i];
		window->ns = (double)KEPT_LOG_GPU_NS / parts * (double)(1 + empty);
		of->wall_ns += window->ns;
		of->work_ns += window->usual_ns;
	}
	return 0;
}

int run_pace_add(struct run_pace *pace, const struct run_window *windows, uint32_t nr,
		 uint32_t parts)
{
	uint32_t level = KEPT_WINDOW_LEVELS, from = 0;
	uint64_t length_ns = 0;
	int error = 0;

	if (nr && windows[nr - 1].number - windows[0].number > TENTHS_MOST * parts)
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t of = kept_window_level(windows[i].number / parts);

		level = of < level ? of : level;
	}
	for (uint32_t i = 0; i < nr && !error; i++) {
		const uint64_t last = windows[nr - 1].number, at = windows[i].number;
		const uint64_t next = i + 1 < nr ? windows[i + 1].number : at;
		const uint64_t pause = (last - windows[0].number) / 10;
		const bool is_long = next - at > PAUSE_TENTHS * parts && next - at > pause;

		if (i + 1 < nr &&
		    !(is_long && empty_between(at, next, level, parts) >= PAUSE_EMPTY * parts))
			continue;
		error = add_stretch(parts > 1 ? &pace->hundredths : &pace->of, windows + from,
				    i + 1 - from, level, parts);
		length_ns += (at - windows[from].number + 1) * KEPT_LOG_GPU_NS / parts;
		from = i + 1;
	}
	pace->length_ns = length_ns > pace->length_ns ? length_ns : pace->length_ns;
	return error;
}

static void finish(struct run_stretch *of)
{
	uint32_t count = 0;

	if (of->nr_windows)
		qsort(of->windows, of->nr_windows, sizeof(*of->windows), by_number);
	for (uint32_t i = 0; i < of->nr_windows; i++) {
		const struct run_window *window = &of->windows[i];

		if (count && of->windows[count - 1].number == window->number) {
			of->windows[count - 1].ns += window->ns;
			of->windows[count - 1].usual_ns += window->usual_ns;
		} else {
			of->windows[count++] = *window;
		}
	}
	of->nr_windows = count;
}

void run_pace_finish(struct run_pace *pace)
{
	struct run_stretch other = pace->hundredths;
	struct noise noise;

	finish(&pace->of);
	finish(&other);
	if (pace->length_ns >= LONG_NS &&
	    !noise_of_windows(pace->of.windows, pace->of.nr_windows, &noise)) {
		const struct run_stretch tenths = pace->of;

		pace->of = other;
		other = tenths;
	}
	free(other.windows);
	pace->hundredths = (struct run_stretch){0};
}

bool run_pace_is_long(const struct run_pace *pace)
{
	return pace->length_ns >= LONG_NS || pace->window_ns >= LONG_NS;
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

static int read_busy(struct run_pace *pace, const struct profile *profile,
		     const struct report_tree *tree)
{
	struct report_busy *busy;
	int error = report_busy_create(profile, &busy);

	for (uint32_t i = 0; !error && i < busy->nr_rows; i++) {
		if (!busy->rows[i].whole_device || !busy->rows[i].busy_ns)
			continue;
		pace->busy_ns += busy->rows[i].busy_ns;
		pace->nr_gpus++;
	}
	if (!error)
		pace->window_ns = marked_steps_window_ns(tree, busy);
	report_busy_destroy(busy);
	return error;
}

int run_pace_read_gpus(struct run_pace *pace, const struct profile *profile,
		       const struct report_tree *whole)
{
	const struct report_options options = {
		.planes = 1u << REPORT_PLANE_IDLE,
		.lines = REPORT_LINES_ON,
		.leaves_most = 1,
		.leaves_kept = 1u << REPORT_BY_HOST | 1u << REPORT_BY_GPU,
	};
	struct report_tree *tree;
	int error = read_busy(pace, profile, whole);

	pace->gpu = REPORT_GPU_NONE;
	if (!error)
		error = report_tree_build(profile, &options, &tree);
	if (error)
		return error;
	error = take_idle(pace, tree);
	report_tree_destroy(tree);
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
	free(pace->of.windows);
	free(pace->hundredths.windows);
	memset(pace, 0, sizeof(*pace));
}
