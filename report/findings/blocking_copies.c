#include "finding_kinds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_print.h"
#include "report/digest/host_lines.h"
#include "report/model/report_groups.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u
#define LINES_TOLD  3u

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Returns the name of the call that asked for the copy; NULL: another call did. */
static const char *copy_call(const struct report_tree *tree, const struct report_leaf *leaf)
{
	const char *name = tree->strings[tree->nodes[leaf->node].name];

	return begins(name, "cudaMemcpy") || begins(name, "cuMemcpy") ? name : NULL;
}

/* Copies within a device return at once, by whichever call. */
static int is_blocking(const void *context, const struct report_leaf *leaf)
{
	const struct report_tree *tree = context;
	const char *call, *way;

	if (leaf->kind != REPORT_KIND_MEMCPY)
		return 0;
	call = copy_call(tree, leaf);
	way = report_groups_activity(tree->strings[leaf->name]);
	return call && !strstr(call, "Async") && way && !begins(way, "DtoD") &&
	       !begins(way, "PtoP");
}

/* CUPTI records a wait within an asynchronous copy if that blocks, as one of pageable memory does. */
static int is_pageable(const void *context, const struct report_leaf *leaf)
{
	const char *call;

	if (leaf->kind != REPORT_KIND_SYNC)
		return 0;
	call = copy_call(context, leaf);
	return call && strstr(call, "Async") != NULL;
}

/* Returns ": 200 there (21.171 ms), 800 in fit.py:block:23 (800.000 us), 3 elsewhere", the costliest first; "": all are
 * in one line, or none has one. */
static char *parts_text(const struct host_lines *lines, uint64_t count)
{
	char time[NUMBER_SIZE], number[NUMBER_SIZE];
	char *text = strdup("");
	uint64_t left = count;

	if (!lines->nr_lines || lines->lines[0].count == count)
		return text;
	for (uint32_t i = 0; text && i < lines->nr_lines && i < LINES_TOLD; i++) {
		const struct host_line *line = &lines->lines[i];
		char *longer =
			text_print("%s%s%s %s%s (%s)", text, i ? ", " : ": ",
				   report_summary_count(line->count, number), i ? "in " : "there",
				   i ? line->text : "", report_summary_time(line->ns, time));

		left -= line->count;
		free(text);
		text = longer;
	}
	if (!text || !left)
		return text;
	char *longer = text_print("%s, %s elsewhere", text, report_summary_count(left, number));
	free(text);
	return longer;
}

static const char *line_of(const struct host_lines *lines)
{
	return lines->nr_lines ? lines->lines[0].text : "code without a known line";
}

static int find_blocking(const struct findings_input *input, struct findings *findings)
{
	const struct report_tree *tree = input->work;
	const uint64_t whole_ns = tree->kernel_ns + tree->copy_ns + tree->graph_ns;
	char time[NUMBER_SIZE], count[NUMBER_SIZE];
	struct host_lines lines;
	uint64_t ns, copies;
	int result = host_lines_init_divided(&lines, tree, REPORT_PLANE_GPU, is_blocking, tree);

	if (result)
		return result;
	finding_sum(tree, is_blocking, tree, &ns, &copies);
	char *parts = parts_text(&lines, copies);
	const double share = whole_ns ? (double)lines.ns / (double)whole_ns : 0;
	if (lines.ns && share >= BLOCKING_COPY_SHARE) {
		struct finding finding = {
			.kind = "blocking_copies",
			.text = text_print("synchronous copy in %s: %.1f %% of GPU time is in "
					   "copies that the host waits for",
					   line_of(&lines), 100 * share),
			.evidence = parts ? text_print("%s copies by cudaMemcpy or cuMemcpy, %s in "
						       "all%s",
						       report_summary_count(copies, count),
						       report_summary_time(lines.ns, time), parts)
					  : NULL,
			.cure = "copy from pinned memory by cudaMemcpyAsync (PyTorch: "
				"pin_memory=True, .to(device, non_blocking=True))",
			.share = share,
			.threshold = BLOCKING_COPY_SHARE,
			.ns = lines.ns,
			.plane = REPORT_PLANE_GPU,
			.line = finding_line(&lines),
			.rank = REPORT_RANK_NONE,
			.gpu = REPORT_GPU_NONE,
		};
		result = finding_add(findings, &finding);
	}
	free(parts);
	host_lines_fini(&lines);
	return result;
}

static int find_pageable(const struct findings_input *input, struct findings *findings)
{
	const struct report_tree *tree = input->hosts;
	const uint64_t window_ns = finding_window_ns(input);
	char time[NUMBER_SIZE], count[NUMBER_SIZE];
	struct host_lines lines;
	uint64_t ns, waits;

	if (!tree)
		return 0;
	int result = host_lines_init_divided(&lines, tree, REPORT_PLANE_SYNC, is_pageable, tree);
	if (result)
		return result;
	finding_sum(tree, is_pageable, tree, &ns, &waits);
	char *parts = parts_text(&lines, waits);
	const double share = window_ns ? (double)lines.ns / (double)window_ns : 0;
	if (lines.ns && share >= BLOCKING_COPY_SHARE) {
		struct finding finding = {
			.kind = "pageable_copies",
			.text = text_print("copies in %s block although they are asynchronous: "
					   "their memory is pageable",
					   line_of(&lines)),
			.evidence = parts ? text_print("%s waits within cudaMemcpyAsync, %s or "
						       "%.1f %% of the GPUs' time%s",
						       report_summary_count(waits, count),
						       report_summary_time(lines.ns, time),
						       100 * share, parts)
					  : NULL,
			.cure = "pin the host's memory (pin_memory=True, cudaMallocHost)",
			.share = share,
			.threshold = BLOCKING_COPY_SHARE,
			.ns = lines.ns,
			.plane = REPORT_PLANE_SYNC,
			.line = finding_line(&lines),
			.rank = REPORT_RANK_NONE,
			.gpu = REPORT_GPU_NONE,
		};
		result = finding_add(findings, &finding);
	}
	free(parts);
	host_lines_fini(&lines);
	return result;
}

int blocking_copies_find(const struct findings_input *input, struct findings *findings)
{
	int result = find_blocking(input, findings);

	return result ? result : find_pageable(input, findings);
}
