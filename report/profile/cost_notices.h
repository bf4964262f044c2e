/* Reads what processes say about --max-cost (inject/helper_thread.c), and says it once for all that say the same. Such
 * notices differ in times and shares, so equal texts are not enough. Pure. */
#ifndef COST_NOTICES_H
#define COST_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COST_NOTICES_TEXT_SIZE 512u

struct cost_notice {
	uint32_t kind;    /* which level followed which, or that the limit cannot be kept */
	uint32_t from_ms; /* since the guest's start; 0 if the limit cannot be kept */
	uint32_t share;   /* thousandths of a percent */
	int32_t rank;     /* of the process; below 0: none. The caller sets it and pid. */
	uint32_t pid;
};

/* Returns whether the text, without a NUL, is such a notice. *notice is then set, but for rank and pid. */
bool cost_notice_parse(const char *text, size_t size, struct cost_notice *notice);

/* For qsort(): by kind, and by process. */
int cost_notice_compare(const void *a, const void *b);

/* Writes one text for the first notices that have one kind: with their times and shares from the least to the greatest,
 * and with their ranks, or process ids if one has no rank. notices: sorted; nr: above 0. *nr_processes: that said it.
 * Returns how many notices the text is for. */
uint32_t cost_notices_write(const struct cost_notice *notices, uint32_t nr,
			    char text[static COST_NOTICES_TEXT_SIZE], uint32_t *nr_processes);

#endif
