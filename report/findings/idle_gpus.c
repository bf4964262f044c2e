#include "finding_kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "idle_reason.h"

#include "base/text_print.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u
#define NAME_SIZE   192u
#define LINES_TOLD  3u
#define PART_TOLD                                                                                  \
	0.10 /* of the idle time: a further line that is told beside the one that has most */
#define UNKNOWN_TOLD 0.05 /* of the idle time: without a reason */
#define CURE_LOADER                                                                                \
	"more loader workers, prefetching (prefetch_factor), or a faster place for the data"
#define CURE_WAIT "wait less often for the GPU (.item(), prints of tensors, synchronize())"
#define CURE_HOST "do this in another thread, or less often"
#define CURE_LINES                                                                                 \
	"each of these lines keeps the GPU waiting: do it in another thread or process, ahead "    \
	"of time, or less often"
#define CURE_SAMPLES                                                                               \
	"run --cpu-hz 999 --off-cpu 100us sees shorter pieces of the host's time, and says more "  \
	"of why (docs/how-to/idle-gpus.md)"
#define CURE_WAITS                                                                                 \
	"run --off-cpu 1ms records the waits, and says where they are "                            \
	"(docs/how-to/idle-gpus.md)"
/* The profile does not know whether these options were refused. So the cure says what they need. */
#define CURE_RECORD                                                                                \
	"sudo flamegrid run --cpu-hz 99 --off-cpu 1ms records why; CAP_BPF and CAP_PERFMON do, "   \
	"too, and without rights --record sync says where the host waits "                         \
	"(docs/how-to/idle-gpus.md)"
#define CURE_RECORD_MORE                                                                           \
	"flamegrid report PROFILE --planes sync -f folded says where the host waits for the GPU; " \
	"sudo flamegrid run --cpu-hz 99 --off-cpu 1ms records the rest, and so do CAP_BPF and "    \
	"CAP_PERFMON (docs/how-to/idle-gpus.md)"
/* The path of the whole is not known. */
#define CURE_WHOLE                                                                                 \
	"flamegrid report WHOLE, of the whole profile, tells why, if the host was recorded "       \
	"(docs/how-to/idle-gpus.md)"
#define CURE_WHOLE_MORE                                                                            \
	"flamegrid report PROFILE --planes sync -f folded says where the host waits for the GPU; " \
	"flamegrid report WHOLE, of the whole profile, tells the rest, if it was recorded "        \
	"(docs/how-to/idle-gpus.md)"
#define CURE_LOOK                                                                                  \
	"flamegrid report PROFILE --planes idle -f folded has all the stacks "                     \
	"(docs/how-to/idle-gpus.md)"

struct idle_gpu {
	const struct gpu_row *row;
	struct idle_reason reason;
	double share;
	bool is_told;
};

/* GPUs that idle alike, added up. */
struct idle_group {
	uint32_t nr;
	double share, least, most; /* the mean, and its range */
	uint64_t idle_ns, pause_ns, unseen_ns, off_cpu_ns;
	struct host_lines lines;
};

/* A start, or a checkpoint of an hour, is none of the steps that can be made faster. */
static uint64_t idle_ns_of(const struct idle_gpu *gpu)
{
	return gpu->row->busy->idle_ns - gpu->reason.pause_ns;
}

static void name_gpu(const struct gpu_row *row, char name[static NAME_SIZE])
{
	if (row->busy->gpu < 0)
		snprintf(name, NAME_SIZE, "a GPU on %.100s", row->busy->host);
	else
		snprintf(name, NAME_SIZE, "GPU %" PRId32 " on %.100s", row->busy->gpu,
			 row->busy->host);
}

/* Of a GPU of which the idle plane has nothing. A part of a profile never has that plane, so recording it anew would
 * not help. */
static const char *cure_unrecorded(const struct idle_reason *reason, bool is_part)
{
	if (is_part)
		return reason->has_waits ? CURE_WHOLE_MORE : CURE_WHOLE;
	return reason->has_waits ? CURE_RECORD_MORE : CURE_RECORD;
}

static const char *cure_of(const struct idle_reason *reason, const struct idle_group *group,
			   bool is_part)
{
	const double most = IDLE_CAUSE_SHARE * (double)group->idle_ns;

	if (reason->line && reason->within)
		return CURE_LOADER;
	if (reason->line)
		return strcmp(reason->what, "waits for the GPU") == 0 ? CURE_WAIT : CURE_HOST;
	if (reason->is_loading)
		return CURE_LOADER;
	if (!reason->is_recorded)
		return cure_unrecorded(reason, is_part);
	/* What is not known cannot be cured. */
	if ((double)(group->unseen_ns + group->off_cpu_ns) >= most)
		return group->off_cpu_ns > group->unseen_ns ? CURE_WAITS : CURE_SAMPLES;
	return group->lines.nr_lines ? CURE_LINES : CURE_LOOK;
}

/* Returns the text of the reason's line. */
static const char *line_text(const struct findings_input *input, const struct idle_reason *reason,
			     const struct host_lines *lines)
{
	for (uint32_t i = 0; i < lines->nr_lines; i++)
		if (lines->lines[i].name == reason->line)
			return lines->lines[i].text;
	return input->hosts->strings[reason->line];
}

/* Returns ": the loader; most in train.py:load:12 (36 %), train.py:read:30 (24 %)"; "": no line is known. */
static char *top_text(const struct host_lines *lines, uint64_t idle_ns, bool is_loading)
{
	char *text = strdup(is_loading ? ": the data loader" : "");

	for (uint32_t i = 0; text && i < lines->nr_lines && i < LINES_TOLD; i++) {
		char *longer = text_print(
			"%s%s%s (%.0f %%)", text, i ? ", " : ", most in ", lines->lines[i].text,
			idle_ns ? 100 * (double)lines->lines[i].ns / (double)idle_ns : 0);
		free(text);
		text = longer;
	}
	return text;
}

/* Returns ": rank 3 waits in its loader (fetch_batch)", or the lines that have most. */
static char *reason_text(const struct findings_input *input, const struct idle_gpu *gpu,
			 const struct idle_group *group)
{
	const struct idle_reason *reason = &gpu->reason;
	char rank[NUMBER_SIZE] = "its process";

	if (group->nr > 1)
		snprintf(rank, sizeof(rank), "each %s", gpu->row->rank >= 0 ? "rank" : "process");
	else if (gpu->row->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId32, gpu->row->rank);

	if (!reason->line)
		return top_text(&group->lines, group->idle_ns, reason->is_loading);
	const char *line = line_text(input, reason, &group->lines);
	const char *within = input->hosts->strings[reason->within];

	if (!reason->within)
		return text_print(": %s %s in %s", rank, reason->what, line);
	/* The reader changes the line, and knows the loader by its name. */
	if (reason->within == reason->line)
		return text_print(": %s %s in its loader (%s)", rank, reason->what, line);
	if (reason->is_below)
		return text_print(": %s %s in its loader (%s > %s)", rank, reason->what, line,
				  within);
	return text_print(": %s %s in its loader (%s > %s)", rank, reason->what, within,
			  input->hosts->strings[reason->line]);
}

/* Returns "72" or "30 to 37". */
static const char *range_text(double least, double most, char text[static NUMBER_SIZE])
{
	const int low = (int)lround(100 * least), high = (int)lround(100 * most);

	if (low == high)
		snprintf(text, NUMBER_SIZE, "%d", low);
	else
		snprintf(text, NUMBER_SIZE, "%d to %d", low, high);
	return text;
}

static bool is_alike(const struct idle_gpu *a, const struct idle_gpu *b)
{
	return a->reason.line == b->reason.line && a->reason.is_recorded == b->reason.is_recorded &&
	       a->reason.has_waits == b->reason.has_waits &&
	       a->reason.is_loading == b->reason.is_loading &&
	       strcmp(a->reason.what, b->reason.what) == 0;
}

/* Takes the GPU, and all later ones that idle for the same reason. */
static int group_init(struct idle_group *group, const struct findings_input *input,
		      struct idle_gpu *gpus, uint32_t nr, uint32_t first)
{
	const struct gpu_row **rows = calloc(nr, sizeof(*rows));

	*group = (struct idle_group){.least = 1};
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = first; i < nr; i++) {
		if (gpus[i].is_told || !is_alike(&gpus[i], &gpus[first]))
			continue;
		gpus[i].is_told = true;
		rows[group->nr++] = gpus[i].row;
		group->share += gpus[i].share;
		group->least = fmin(group->least, gpus[i].share);
		group->most = fmax(group->most, gpus[i].share);
		group->idle_ns += idle_ns_of(&gpus[i]);
		group->pause_ns += gpus[i].reason.pause_ns;
		group->unseen_ns += gpus[i].reason.unseen_ns;
		group->off_cpu_ns += gpus[i].reason.off_cpu_ns;
	}
	group->share /= group->nr;
	int error = idle_reason_lines(input->hosts, rows, group->nr, &group->lines);
	free(rows);
	return error;
}

/* Returns ", 17 % in fit.py:block:23 > gpu.py:read:25" for further lines of much idle time; "": there are none. */
static char *further_text(const struct idle_gpu *gpu, const struct idle_group *group)
{
	char *text = strdup("");
	uint32_t told = 1;

	for (uint32_t i = 0; text && gpu->reason.line && i < group->lines.nr_lines; i++) {
		const struct host_line *line = &group->lines.lines[i];

		if (line->name == gpu->reason.line)
			continue;
		if ((double)line->ns < PART_TOLD * (double)group->idle_ns || told++ == LINES_TOLD)
			break;
		char *longer =
			text_print("%s, %.0f %% in %s", text,
				   100 * (double)line->ns / (double)group->idle_ns, line->text);
		free(text);
		text = longer;
	}
	return text;
}

/* Returns what a report of a GPU lacks of which the idle plane has nothing. */
static const char *unrecorded_text(const struct idle_reason *reason, bool is_part)
{
	if (is_part)
		return reason->has_waits
			       ? "; a part of a profile has of the host only its waits for the GPU"
			       : "; a part of a profile has nothing of the host";
	return reason->has_waits ? "; of the host only its waits for the GPU were recorded"
				 : "; nothing of the host was recorded";
}

/* Returns "; of 30 % no sample tells why"; "": a reason is known of all but a few percent. */
static char *unknown_text(const struct idle_gpu *gpu, const struct idle_group *group, bool is_part)
{
	const double unseen = (double)group->unseen_ns / (double)group->idle_ns;
	const double off_cpu = (double)group->off_cpu_ns / (double)group->idle_ns;
	char part[NUMBER_SIZE] = "";

	if (!gpu->reason.is_recorded)
		return strdup(unrecorded_text(&gpu->reason, is_part));
	if (unseen < UNKNOWN_TOLD && off_cpu < UNKNOWN_TOLD)
		return strdup(group->lines.nr_lines ? "" : "; no line of the program explains it");
	if (unseen >= UNKNOWN_TOLD)
		snprintf(part, sizeof(part), "; of %.0f %% no sample", 100 * unseen);
	if (off_cpu < UNKNOWN_TOLD)
		return text_print("%s tells why", part);
	return text_print("%s%s; for %.0f %% no wait was recorded", part, *part ? " tells why" : "",
			  100 * off_cpu);
}

static char *evidence_text(const struct idle_gpu *gpu, const struct idle_group *group, bool is_part)
{
	char idle[NUMBER_SIZE], part[NUMBER_SIZE] = "", pause[NUMBER_SIZE];
	char *further = further_text(gpu, group), *unknown = unknown_text(gpu, group, is_part);
	char *text = NULL;

	if (gpu->reason.line)
		snprintf(part, sizeof(part), ", %.0f %% of it there", 100 * gpu->reason.part);
	if (further && unknown)
		text = text_print("%s idle%s%s%s%s%s%s", report_summary_time(group->idle_ns, idle),
				  group->nr > 1 ? ", added up" : "", part, further, unknown,
				  group->pause_ns ? "; without pauses of " : "",
				  group->pause_ns ? report_summary_time(group->pause_ns, pause)
						  : "");
	free(further);
	free(unknown);
	return text;
}

static int tell(const struct findings_input *input, struct idle_gpu *gpus, uint32_t nr,
		uint32_t first, struct findings *findings)
{
	struct idle_gpu *gpu = &gpus[first];
	char name[NAME_SIZE], range[NUMBER_SIZE];
	struct idle_group group;
	int error = group_init(&group, input, gpus, nr, first);
	char *reason = error ? NULL : reason_text(input, gpu, &group);

	if (!reason) {
		host_lines_fini(&group.lines);
		return -ENOMEM;
	}
	name_gpu(gpu->row, name);
	const bool is_one = group.nr == 1;
	struct finding finding = {
		.kind = "idle_gpus",
		.text = is_one ? text_print("%s is idle %.0f %%%s", name, 100 * group.share, reason)
			       : text_print("%" PRIu32 " of %" PRIu32 " GPUs are idle %s %%%s",
					    group.nr, input->gpus->nr_rows,
					    range_text(group.least, group.most, range), reason),
		.evidence = evidence_text(gpu, &group, input->work->is_part),
		.cure = cure_of(&gpu->reason, &group, input->work->is_part),
		.share = group.share,
		.threshold = IDLE_SHARE,
		.ns = group.idle_ns,
		.plane = REPORT_PLANE_IDLE,
		.line = gpu->reason.line ? strdup(line_text(input, &gpu->reason, &group.lines))
					 : finding_line(&group.lines),
		.host = is_one ? strdup(gpu->row->busy->host) : NULL,
		.rank = is_one ? gpu->row->rank : REPORT_RANK_NONE,
		.gpu = is_one ? gpu->row->busy->gpu : REPORT_GPU_NONE,
	};
	free(reason);
	host_lines_fini(&group.lines);
	return finding_add(findings, &finding);
}

int idle_gpus_find(const struct findings_input *input, struct findings *findings)
{
	struct idle_gpu *gpus = calloc(input->gpus->nr_rows + 1ul, sizeof(*gpus));
	uint32_t nr = 0;
	int result = 0;

	if (!gpus)
		return -ENOMEM;
	const bool has_windows = report_summary_has_windows(input->work);
	for (uint32_t i = 0; i < input->gpus->nr_rows && result == 0; i++) {
		const struct gpu_row *row = &input->gpus->rows[i];
		const uint64_t window_ns = row->busy->busy_ns + row->busy->idle_ns;

		if (!window_ns || row->busy->late || row->busy->is_inexact ||
		    (double)row->busy->idle_ns < IDLE_SHARE * (double)window_ns)
			continue;
		/* Earlier versions did not keep apart what was not captured. */
		if (has_windows && !row->busy->uncaptured_ns)
			continue;
		struct idle_gpu *gpu = &gpus[nr];
		*gpu = (struct idle_gpu){.row = row};
		result = idle_reason_find(input->hosts, row, &gpu->reason);
		gpu->share = (double)idle_ns_of(gpu) / (double)(window_ns - gpu->reason.pause_ns);
		nr += gpu->share >= IDLE_SHARE;
	}
	for (uint32_t i = 0; i < nr && result == 0; i++)
		if (!gpus[i].is_told)
			result = tell(input, gpus, nr, i, findings);
	free(gpus);
	return result;
}
