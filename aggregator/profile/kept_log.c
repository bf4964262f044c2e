#include "kept_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct kept_log {
	struct kept_list *lists[KEPT_LISTS]; /* by id less one */
	uint32_t nr_lists[KEPT_LISTS];
	struct kept_newest **newest; /* owns, and what they point to; the same */
	uint32_t nr_newest;
};

/* Pieces of a process at most, of one of a large job at most, and of a job. */
static const uint32_t most[KEPT_SORTS] = {
	[KEPT_HOST] = KEPT_LOG_HOST_MAX,
	[KEPT_GPU] = KEPT_LOG_GPU_MAX,
	[KEPT_LONE] = KEPT_LOG_LONE_MAX,
	[KEPT_NEWEST] = KEPT_LOG_NEWEST_MAX,
};
static const uint32_t least[KEPT_SORTS] = {
	[KEPT_GPU] = KEPT_LOG_GPU_MIN,
	[KEPT_LONE] = KEPT_LOG_LONE_MIN,
	[KEPT_NEWEST] = KEPT_LOG_NEWEST_MIN,
};
static const uint32_t of_job[KEPT_SORTS] = {
	[KEPT_GPU] = KEPT_LOG_GPU_JOB,
	[KEPT_LONE] = KEPT_LOG_LONE_JOB,
	[KEPT_NEWEST] = KEPT_LOG_NEWEST_JOB,
};

struct kept_log *kept_log_create(void)
{
	return calloc(1, sizeof(struct kept_log));
}

void kept_log_destroy(struct kept_log *log)
{
	if (!log)
		return;
	for (int sort = 0; sort < KEPT_LISTS; sort++) {
		for (uint32_t i = 0; i < log->nr_lists[sort]; i++)
			free(log->lists[sort][i].recent);
		free(log->lists[sort]);
	}
	for (uint32_t i = 0; i < log->nr_newest; i++)
		kept_newest_destroy(log->newest[i]);
	free(log->newest);
	free(log);
}

static int get_list(struct kept_log *log, enum kept_sort sort, uint32_t process,
		    struct kept_list **list)
{
	int error = array_reserve_zeroed(&log->lists[sort], &log->nr_lists[sort], process,
					 sizeof(**list));

	*list = error ? NULL : &log->lists[sort][process - 1];
	return error;
}

static const struct kept_list *find_list(const struct kept_log *log, enum kept_sort sort,
					 uint32_t process)
{
	return process && process <= log->nr_lists[sort] ? &log->lists[sort][process - 1] : NULL;
}

static struct kept_newest *find_newest(const struct kept_log *log, uint32_t process)
{
	return process && process <= log->nr_newest ? log->newest[process - 1] : NULL;
}

int kept_log_exchanges(struct kept_log *log, uint32_t process)
{
	int error =
		array_reserve_zeroed(&log->newest, &log->nr_newest, process, sizeof(*log->newest));

	if (!error && !log->newest[process - 1]) {
		log->newest[process - 1] = kept_newest_create();
		error = log->newest[process - 1] ? 0 : -ENOMEM;
	}
	return error;
}

void kept_log_end(struct kept_log *log, uint32_t process)
{
	struct kept_newest *newest = find_newest(log, process);

	if (newest)
		kept_newest_drop(newest);
}

/* Removes the pieces that do not stay at the next level. */
static void raise_level(struct kept_list *list)
{
	uint32_t count = 0;

	list->nr_pieces -= list->counts[list->level];
	list->counts[list->level++] = 0;
	list->raised = true;
	for (uint32_t i = 0; i < list->nr_recent; i++)
		if (list->recent[i].level >= list->level)
			list->recent[count++] = list->recent[i];
	list->nr_recent = count;
}

static int add(struct kept_log *log, enum kept_sort sort, uint32_t process, uint32_t room,
	       uint32_t first_level, const struct kept_piece *piece)
{
	struct kept_list *list;
	int error = get_list(log, sort, process, &list);

	if (error)
		return error;
	while (list->level < first_level ||
	       (list->nr_pieces >= room && list->level < KEPT_WINDOW_LEVELS - 1))
		raise_level(list);
	if (piece->level < list->level || list->nr_pieces >= room)
		return 0;
	if (array_reserve(&list->recent, &list->room_recent, list->nr_recent + 1,
			  sizeof(*list->recent)))
		return -ENOMEM;
	list->recent[list->nr_recent++] = *piece;
	list->nr_pieces++;
	list->counts[piece->level]++;
	return 0;
}

/* On the common clock, modulo 2^64. */
static uint32_t level_of(const struct host_sample *sample, int64_t realtime_offset_ns)
{
	uint64_t start_ns =
		sample->time_ns > sample->duration_ns ? sample->time_ns - sample->duration_ns : 0;
	uint64_t from_ns = start_ns + (uint64_t)realtime_offset_ns;
	uint64_t to_ns = sample->time_ns + (uint64_t)realtime_offset_ns;

	if (from_ns > to_ns)
		from_ns = to_ns;
	return kept_window_level_of(from_ns / KEPT_LOG_HOST_NS, to_ns / KEPT_LOG_HOST_NS);
}

int kept_log_sample(struct kept_log *log, uint32_t process, const struct host_sample *sample,
		    int64_t realtime_offset_ns)
{
	const struct kept_piece piece = {.sample = *sample,
					 .level = (uint8_t)level_of(sample, realtime_offset_ns)};

	return sample->kind == HOST_SAMPLE_CALL
		       ? 0
		       : add(log, KEPT_HOST, process, KEPT_LOG_HOST_MAX, 0, &piece);
}

static uint32_t room_of(enum kept_sort sort, int32_t nr_ranks)
{
	uint32_t room = nr_ranks > 0 ? of_job[sort] / (uint32_t)nr_ranks : most[sort];

	if (room > most[sort])
		return most[sort];
	return room > least[sort] ? room : least[sort];
}

/* A job with less room for each process begins at the level that it would soon reach. So the room of all jobs lasts
 * about equally long, and a commit of thousands of processes writes few pieces. */
static uint32_t first_level_of(enum kept_sort sort, uint32_t room)
{
	uint32_t level = 0;

	while (room <= most[sort] >> (level + 1))
		level++;
	return level;
}

bool kept_log_wants(const struct kept_log *log, enum kept_sort sort, uint32_t process,
		    int32_t nr_ranks, uint64_t start_ns)
{
	if (sort == KEPT_NEWEST)
		return find_newest(log, process);
	const struct kept_list *list = find_list(log, sort, process);
	const uint32_t first = first_level_of(sort, room_of(sort, nr_ranks));
	const uint32_t level = list && list->level > first ? list->level : first;

	return level == 0 || kept_window_level(start_ns / KEPT_LOG_GPU_NS) >= level;
}

int kept_log_work(struct kept_log *log, enum kept_sort sort, uint32_t process, int32_t nr_ranks,
		  const struct gpu_record *record, uint32_t tid, uint32_t stack_id)
{
	const uint32_t room = room_of(sort, nr_ranks);
	const struct kept_piece piece = {
		.sample =
			{
				.time_ns = record->end_ns,
				.duration_ns = record->end_ns - record->start_ns,
				.tid = tid,
				.stack_id = record->capture_stack_id ? record->capture_stack_id
								     : stack_id,
				.name_id = record->name_id,
				.kind = kept_kind(record->kind, record->copy_kind),
			},
		.level = (uint8_t)kept_window_level(record->start_ns / KEPT_LOG_GPU_NS),
	};

	if (sort != KEPT_NEWEST)
		return add(log, sort, process, room, first_level_of(sort, room), &piece);
	struct kept_newest *newest = find_newest(log, process);
	return newest ? kept_newest_add(newest, room, record->start_ns / KEPT_LOG_GPU_NS,
					&piece.sample)
		      : 0;
}

bool kept_log_has_samples(const struct kept_log *log, uint32_t process)
{
	const struct kept_list *list = find_list(log, KEPT_HOST, process);

	return list && (list->nr_pieces || list->level);
}

uint32_t kept_log_level(const struct kept_log *log, enum kept_sort sort, uint32_t process)
{
	if (sort == KEPT_NEWEST) {
		const struct kept_newest *newest = find_newest(log, process);

		return newest ? newest->level : 0;
	}
	const struct kept_list *list = find_list(log, sort, process);
	return list ? list->level : 0;
}

/* ---- the store */

const struct kept_list *kept_log_lists(const struct kept_log *log, enum kept_sort sort,
				       uint32_t *count)
{
	*count = log->nr_lists[sort];
	return log->lists[sort];
}

struct kept_newest *const *kept_log_newest(const struct kept_log *log, uint32_t *count)
{
	*count = log->nr_newest;
	return log->newest;
}

uint32_t kept_list_levels(const struct kept_list *list)
{
	uint32_t levels = 0;

	for (uint32_t i = 0; i < list->nr_recent; i++)
		levels |= 1u << list->recent[i].level;
	return levels;
}

static void save_list(struct kept_list *list)
{
	list->nr_blocks += (uint32_t)__builtin_popcount(kept_list_levels(list));
	list->nr_recent = 0;
	list->raised = false;
}

void kept_log_saved(struct kept_log *log)
{
	for (int sort = 0; sort < KEPT_LISTS; sort++)
		for (uint32_t i = 0; i < log->nr_lists[sort]; i++)
			save_list(&log->lists[sort][i]);
	for (uint32_t i = 0; i < log->nr_newest; i++)
		if (log->newest[i])
			kept_newest_saved(log->newest[i]);
}

static int load_newest_level(struct kept_log *log, uint32_t process, uint32_t level)
{
	int error = kept_log_exchanges(log, process);

	if (!error && (level >= KEPT_WINDOW_LEVELS || log->newest[process - 1]->level))
		error = -EINVAL;
	if (!error)
		log->newest[process - 1]->level = level;
	return error;
}

/* What was newest is not any more. */
static int load_newest(struct kept_log *log, uint32_t process, uint32_t level, uint32_t nr_blocks)
{
	int error = level < KEPT_WINDOW_LEVELS ? kept_log_exchanges(log, process) : -EINVAL;

	if (!error)
		kept_newest_load(log->newest[process - 1], nr_blocks);
	return error;
}

int kept_log_load_level(struct kept_log *log, enum kept_sort sort, uint32_t process, uint32_t level)
{
	if (sort == KEPT_NEWEST)
		return load_newest_level(log, process, level);
	struct kept_list *list;
	int error = get_list(log, sort, process, &list);

	if (error)
		return error;
	if (level >= KEPT_WINDOW_LEVELS || list->level || list->nr_pieces)
		return -EINVAL;
	list->level = level;
	return 0;
}

int kept_log_load(struct kept_log *log, enum kept_sort sort, uint32_t process, uint32_t level,
		  uint32_t nr_blocks, uint64_t nr_pieces)
{
	if (sort == KEPT_NEWEST)
		return load_newest(log, process, level, nr_blocks);
	struct kept_list *list;
	int error = get_list(log, sort, process, &list);

	if (error)
		return error;
	if (level < list->level || level >= KEPT_WINDOW_LEVELS || list->counts[level] ||
	    nr_pieces > most[sort] - list->nr_pieces)
		return -EINVAL;
	if (nr_blocks > list->nr_blocks)
		list->nr_blocks = nr_blocks;
	list->counts[level] = nr_pieces;
	list->nr_pieces += nr_pieces;
	return 0;
}
