/* A timeline of processes, ranks 0 to 8, that share GPUs, streams, ids and launches, and the sums of any of its ranges. Its test wraps
 * sched_getaffinity(). */
#ifndef FOLD_FIXTURE_H
#define FOLD_FIXTURE_H

#include <stdint.h>

#include "timeline/slice/crew_fold.h"

#define FOLD_FIXTURE_PROCESSES 9u
#define FOLD_FIXTURE_BLOCKS    40u
#define FOLD_FIXTURE_PIECES    30u /* of a process in a block */
#define FOLD_FIXTURE_BLOCK_NS  1000000u
#define FOLD_FIXTURE_FIRST_NS  5000000000u

struct event_log;
struct event_packer;

/* What the log does not have. */
struct fold_fixture_lacks {
	uint32_t calls, launches; /* one of so many was lost; 0: none was */
	uint64_t before_ns; /* launches and calls of before went with the log's oldest files */
};

struct fold_fixture {
	char store[64];
	struct profile profile;
	struct timeline_source *source;
	uint32_t random, nr_cpus, next_id;
	struct fold_fixture_lacks lacks;
	uint64_t *others; /* owns; when each record of process 2 began that is no work */
	uint32_t nr_others, room_others;
	uint64_t nr_cells; /* that were in place of events */
};

/* Makes the log of so many blocks, and pieces of a process in each; *state: the fixture. tear_down removes it. */
int fold_fixture_set_up(void **state, uint32_t nr_blocks, uint32_t nr_pieces,
			struct fold_fixture_lacks lacks);
int fold_fixture_tear_down(void **state);

/* Returns a number below most, which is not 0. */
uint32_t fold_fixture_some(struct fold_fixture *f, uint32_t most);

/* Begins more events of process 1, in a file of their own, and ends it. */
struct event_log *fold_fixture_write_more(struct fold_fixture *f);
void fold_fixture_end_more(struct event_log *log);
void fold_fixture_add_launch(struct event_packer *packer, uint32_t id, uint64_t time_ns,
			     uint32_t stack, uint32_t flags);

/* Asserts that the crew's sums of a range are those of all its events. Returns the number of pieces of work. */
uint64_t fold_fixture_check(struct fold_fixture *f, const struct timeline_request *request);

#endif
