#include "capture_pauses.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct mark {
	uint64_t time_ns;
	uint32_t process_id;
	bool is_end; /* of a window */
};

struct taker {
	struct mark *marks; /* owns */
	uint32_t nr_marks, room;
};

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int take_mark(void *context, const struct timeline_launch *launch)
{
	struct taker *taker = context;

	if (array_reserve(&taker->marks, &taker->room, taker->nr_marks + 1ull,
			  sizeof(*taker->marks)))
		return -ENOMEM;
	taker->marks[taker->nr_marks++] = (struct mark){launch->time_ns, launch->process_id,
							launch->mark == RECORD_MARK_WINDOW_END};
	return 0;
}

/* Begins of windows come first where times are equal: a pause has a length. */
static int by_time(const void *a, const void *b)
{
	const struct mark *left = a, *right = b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->time_ns, right->time_ns);
	return order ? order : COMPARE(left->is_end, right->is_end);
}

/* Both marks of a pause are in the log, or one was dropped: then the pause is not known. */
static int pair(struct capture_pauses *pauses, struct taker *taker)
{
	pauses->pauses = malloc((taker->nr_marks + 1ull) * sizeof(*pauses->pauses));
	if (!pauses->pauses)
		return -ENOMEM;
	if (taker->nr_marks)
		qsort(taker->marks, taker->nr_marks, sizeof(*taker->marks), by_time);
	for (uint32_t i = 1; i < taker->nr_marks; i++) {
		const struct mark *end = &taker->marks[i - 1], *next = &taker->marks[i];

		if (end->is_end && !next->is_end && end->process_id == next->process_id)
			pauses->pauses[pauses->nr_pauses++] = (struct capture_pause){
				end->time_ns, next->time_ns, end->process_id};
	}
	return 0;
}

int capture_pauses_read(struct capture_pauses *pauses, struct timeline_source *source,
			const struct timeline_request *request)
{
	struct taker taker = {0};
	const struct timeline_sink sink = {take_mark, NULL, &taker};
	struct timeline_request all = *request;
	struct timeline_counts counts;

	*pauses = (struct capture_pauses){0};
	all.from_ns = 0;
	all.to_ns = UINT64_MAX;
	all.windows_alone = true;
	int error = timeline_source_read(source, &all, &sink, &counts);
	if (!error)
		error = pair(pauses, &taker);
	free(taker.marks);
	return error;
}

void capture_pauses_fini(struct capture_pauses *pauses)
{
	free(pauses->pauses);
	*pauses = (struct capture_pauses){0};
}

const struct capture_pause *capture_pauses_find(const struct capture_pauses *pauses,
						uint32_t process_id, uint64_t time_ns)
{
	uint32_t low = 0, high = pauses ? pauses->nr_pauses : 0;
	const uint32_t end = high;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct capture_pause *pause = &pauses->pauses[middle];

		if (pause->process_id < process_id ||
		    (pause->process_id == process_id && pause->end_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && pauses->pauses[low].process_id == process_id ? &pauses->pauses[low]
									 : NULL;
}

bool capture_pauses_touch(const struct capture_pauses *pauses, uint32_t process_id,
			  uint64_t begin_ns, uint64_t end_ns)
{
	const struct capture_pause *pause = capture_pauses_find(pauses, process_id, begin_ns);

	return pause && pause->begin_ns < end_ns;
}
