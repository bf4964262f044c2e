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
#define CURE_LOADER                                                                                \
	"more loader workers, prefetching (prefetch_factor), or a faster place for the data"
#define CURE_WAIT   "wait less often for the GPU (.item(), prints of tensors, synchronize())"
#define CURE_HOST   "do this in another thread, or less often"
#define CURE_RECORD "flamegrid run --cpu-hz 99 --off-cpu 1ms records why (docs/how-to/idle-gpus.md)"
#define CURE_LOOK                                                                                  \
	"flamegrid report PROFILE --planes idle -f folded has all the stacks "                     \
	"(docs/how-to/idle-gpus.md)"

struct idle_gpu {
	const struct gpu_row *row;
	struct idle_reason reason;
	double share;
	bool is_told;
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

static const char *cure_of(const struct idle_reason *reason)
{
	if (!reason->line)
		return reason->is_recorded ? CURE_LOOK : CURE_RECORD;
	if (reason->within)
		return CURE_LOADER;
	return strcmp(reason->what, "waits for the GPU") == 0 ? CURE_WAIT : CURE_HOST;
}

/* Writes ": rank 3 waits in its loader (fetch_batch)", or "" if no reason is known. */
static char *reason_text(const struct findings_input *input, const struct idle_gpu *gpu,
			 bool is_of_many)
{
	const struct idle_reason *reason = &gpu->reason;
	char rank[NUMBER_SIZE] = "its process";

	if (is_of_many)
		snprintf(rank, sizeof(rank), "each %s", gpu->row->rank >= 0 ? "rank" : "process");
	else if (gpu->row->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId32, gpu->row->rank);

	if (!reason->line)
		return strdup("");
	if (reason->within)
		return text_print(": %s %s in its loader (%s)", rank, reason->what,
				  input->hosts->strings[reason->within]);
	return text_print(": %s %s in %s", rank, reason->what, input->hosts->strings[reason->line]);
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

/* Tells of the GPU, and of all later ones that idle for the same reason. */
static int tell(const struct findings_input *input, struct idle_gpu *gpus, uint32_t nr,
		uint32_t first, struct findings *findings)
{
	struct idle_gpu *gpu = &gpus[first];
	char name[NAME_SIZE], idle[NUMBER_SIZE], part[NUMBER_SIZE] = "", pause[NUMBER_SIZE];
	char range[NUMBER_SIZE];
	uint32_t alike = 0;
	uint64_t idle_ns = 0, pause_ns = 0;
	double sum = 0, least = 1, most = 0;

	for (uint32_t i = first; i < nr; i++) {
		if (gpus[i].is_told || gpus[i].reason.line != gpu->reason.line ||
		    gpus[i].reason.is_recorded != gpu->reason.is_recorded ||
		    strcmp(gpus[i].reason.what, gpu->reason.what) != 0)
			continue;
		gpus[i].is_told = true;
		alike++;
		sum += gpus[i].share;
		least = gpus[i].share < least ? gpus[i].share : least;
		most = gpus[i].share > most ? gpus[i].share : most;
		idle_ns += idle_ns_of(&gpus[i]);
		pause_ns += gpus[i].reason.pause_ns;
	}
	char *reason = reason_text(input, gpu, alike > 1);
	if (!reason)
		return -ENOMEM;
	name_gpu(gpu->row, name);
	if (gpu->reason.line)
		snprintf(part, sizeof(part), ", %.0f %% of it there", 100 * gpu->reason.part);
	struct finding finding = {
		.kind = "idle_gpus",
		.text = alike == 1 ? text_print("%s is idle %.0f %%%s", name, 100 * sum, reason)
				   : text_print("%" PRIu32 " of %" PRIu32 " GPUs are idle %s %%%s",
						alike, input->gpus->nr_rows,
						range_text(least, most, range), reason),
		.evidence =
			text_print("%s idle%s%s%s%s%s", report_summary_time(idle_ns, idle),
				   alike > 1 ? ", added up" : "", part,
				   gpu->reason.line          ? ""
				   : gpu->reason.is_recorded ? "; no line explains half of it"
							     : "; nothing of the host was recorded",
				   pause_ns ? "; without pauses of " : "",
				   pause_ns ? report_summary_time(pause_ns, pause) : ""),
		.cure = cure_of(&gpu->reason),
		.share = sum / alike,
		.threshold = IDLE_SHARE,
		.ns = idle_ns,
		.host = alike == 1 ? strdup(gpu->row->busy->host) : NULL,
		.rank = alike == 1 ? gpu->row->rank : REPORT_RANK_NONE,
		.gpu = alike == 1 ? gpu->row->busy->gpu : REPORT_GPU_NONE,
	};
	free(reason);
	return finding_add(findings, &finding);
}

int idle_gpus_find(const struct findings_input *input, struct findings *findings)
{
	struct idle_gpu *gpus = calloc(input->gpus->nr_rows + 1ul, sizeof(*gpus));
	uint32_t nr = 0;
	int result = 0;

	if (!gpus)
		return -ENOMEM;
	const bool is_known = !report_summary_has_windows(input->work);
	for (uint32_t i = 0; i < input->gpus->nr_rows && result == 0 && is_known; i++) {
		const struct gpu_row *row = &input->gpus->rows[i];
		const uint64_t window_ns = row->busy->busy_ns + row->busy->idle_ns;

		if (!window_ns || row->busy->late || row->busy->is_inexact ||
		    (double)row->busy->idle_ns < IDLE_SHARE * (double)window_ns)
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
