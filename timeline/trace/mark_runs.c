#include "mark_runs.h"

#include <errno.h>
#include <stdlib.h>

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_number(const void *a, const void *b)
{
	const struct timeline_launch *left = *(struct timeline_launch *const *)a,
				     *right = *(struct timeline_launch *const *)b;
	const int order = COMPARE(left->process_id, right->process_id);

	return order ? order : COMPARE(left->correlation_id, right->correlation_id);
}

int mark_runs_set(struct timeline_launch *marks, uint32_t nr_marks)
{
	struct timeline_launch **begins =
		malloc((nr_marks + 1ull) * sizeof(struct timeline_launch *));
	uint32_t nr = 0;

	if (!begins)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_marks; i++)
		if (marks[i].mark == RECORD_MARK_STEP)
			begins[nr++] = &marks[i];
	qsort(begins, nr, sizeof(struct timeline_launch *), by_number);
	for (uint32_t i = 0; i < nr; i++) {
		const struct timeline_launch *before = i ? begins[i - 1] : NULL;
		const bool goes_on = before && before->process_id == begins[i]->process_id &&
				     begins[i]->correlation_id - before->correlation_id <= 1;

		begins[i]->run = goes_on ? before->run : i;
	}
	free(begins);
	return 0;
}

bool mark_runs_end(const struct timeline_launch *begin, const struct timeline_launch *mark)
{
	if (mark->window != begin->window)
		return false;
	if (mark->mark == RECORD_MARK_STEP)
		return mark->run == begin->run;
	/* Guests of earlier versions give ends no number. */
	return !mark->correlation_id || mark->correlation_id == begin->correlation_id;
}
