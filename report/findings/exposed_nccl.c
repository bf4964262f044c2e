#include "finding_kinds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text_print.h"

static int by_number(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Rows without NCCL or without a window do not count. Returns how many shares there are. */
static uint32_t take_shares(const struct report_ranks *ranks, double *shares, uint64_t *sum_ns,
			    uint64_t *waits_ns, uint64_t *moves_ns)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ranks->nr_rows; i++) {
		const struct report_ranks_row *row = &ranks->rows[i];
		const uint64_t exposed_ns = row->nccl_busy_ns > row->overlap_ns
						    ? row->nccl_busy_ns - row->overlap_ns
						    : 0;

		if (!row->nccl_busy_ns || !row->window_ns)
			continue;
		shares[nr++] = (double)exposed_ns / (double)row->window_ns;
		*sum_ns += exposed_ns;
		*waits_ns += row->nccl_waits_ns;
		*moves_ns += row->nccl_moves_ns;
	}
	return nr;
}

struct reading {
	const char *text, *cure;
};

static const struct reading waiting = {
	"ranks wait for other ranks",
	"flamegrid report --straggler says for which rank the others wait"};
static const struct reading moving = {
	"communication is not hidden behind work",
	"overlap communication with the backward pass (bucket sizes, gradient accumulation "
	"without sync), or send less"};
static const struct reading unknown = {
	"whether they wait or move data is not known here",
	"flamegrid report --ranks tells of a whole profile which ranks wait, where NCCL's calls "
	"were recorded"};

static const struct reading *read_split(uint64_t waits_ns, uint64_t moves_ns)
{
	if (!waits_ns && !moves_ns)
		return &unknown;
	return waits_ns > moves_ns ? &waiting : &moving;
}

int exposed_nccl_find(const struct findings_input *input, struct findings *findings)
{
	double *shares = calloc(input->ranks->nr_rows + 1ul, sizeof(*shares));
	uint64_t sum_ns = 0, waits_ns = 0, moves_ns = 0;

	if (!shares)
		return -ENOMEM;
	const uint32_t nr = take_shares(input->ranks, shares, &sum_ns, &waits_ns, &moves_ns);
	qsort(shares, nr, sizeof(*shares), by_number);
	const double share = nr ? shares[nr / 2] : 0;
	free(shares);
	if (share < EXPOSED_NCCL_SHARE)
		return 0;
	const uint64_t split_ns = waits_ns + moves_ns;
	const struct reading *reading = read_split(waits_ns, moves_ns);
	struct finding finding = {
		.kind = "exposed_nccl",
		.text = text_print("%.0f %% of the time only NCCL's kernels run: %s", 100 * share,
				   reading->text),
		.evidence = split_ns ? text_print("the median of %u ranks; of NCCL's time %.0f %% "
						  "waits for other ranks and %.0f %% moves data",
						  nr, 100.0 * (double)waits_ns / (double)split_ns,
						  100.0 * (double)moves_ns / (double)split_ns)
				     : text_print("the median of %u ranks", nr),
		.cure = reading->cure,
		.share = share,
		.threshold = EXPOSED_NCCL_SHARE,
		.ns = sum_ns,
		.plane = REPORT_PLANE_GPU,
		.rank = REPORT_RANK_NONE,
		.gpu = REPORT_GPU_NONE,
	};
	return finding_add(findings, &finding);
}
