/* Keeps single pieces of work of each process with their times: samples of host threads, and GPU work. Reports explain
 * idle time (profile_idle.h) and late ranks (report/straggler) by them, and tell how much a run varies. Those since
 * the last commit are here, and the others in the store (store_kept.h).
 *   - A process keeps a bounded number of each sort, and in large jobs less GPU work. When it has more, its level of
 *     the sort rises, and only pieces in windows of this level stay (kept_window.h). In such a window all pieces are
 *     there. Where GPU work has half the room, its level is 1 from the beginning; where it has a quarter, 2; and so on.
 *   - Windows of samples are of CLOCK_REALTIME. A sample is in each window in which it has a part.
 *   - Windows of GPU work are of CUPTI's clock, which is CLOCK_REALTIME, too. A piece is in the window of its start.
 *   - Of processes that send or receive, as the stages of pipelines do, the newest GPU work is kept once more
 *     (kept_newest.h). It goes when its process ends.
 * One log is used by one thread. */
#ifndef KEPT_LOG_H
#define KEPT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/kept_newest.h"
#include "aggregator/core/kept_window.h"
#include "proto/host_sample.h"
#include "proto/record.h"

enum kept_sort {
	KEPT_HOST = 0, /* samples on and off the CPU */
	KEPT_GPU = 1,  /* kernels, copies, memsets, graphs of processes that have communicators */
	KEPT_LONE = 2, /* the same of processes that have none yet */
	KEPT_LISTS,
	KEPT_NEWEST =
		KEPT_LISTS, /* the newest one of KEPT_GPU, of processes that send or receive; in no list */
	KEPT_SORTS,
};

#define KEPT_LOG_HOST_MAX   (1u << 22) /* samples of a process */
#define KEPT_LOG_GPU_MAX    (1u << 17) /* pieces of GPU work of a process */
#define KEPT_LOG_GPU_MIN    (1u << 14) /* the same of a process of a large job */
#define KEPT_LOG_GPU_JOB    (1u << 23) /* pieces of a job of some hundred ranks, in all */
#define KEPT_LOG_LONE_MAX   (1u << 16) /* the three of KEPT_LONE */
#define KEPT_LOG_LONE_MIN   (1u << 9)
#define KEPT_LOG_LONE_JOB   (1u << 20)
#define KEPT_LOG_NEWEST_MAX (1u << 16) /* the three of KEPT_NEWEST */
#define KEPT_LOG_NEWEST_MIN (1u << 12)
#define KEPT_LOG_NEWEST_JOB (1u << 21)
#define KEPT_LOG_HOST_NS    1000000000u /* length of a window */
#define KEPT_LOG_GPU_NS     KEPT_WINDOW_GPU_NS

/* A piece. GPU work has CUPTI's times, the launching thread, the stack of the launch (of a graph's node that of its
 * capture, if known), and as kind both kinds of the record (kept_kind()). Other fields are 0. */
struct kept_piece {
	struct host_sample sample;
	uint8_t level; /* the highest one at which it stays */
};

/* The kinds of a piece of GPU work in one number, and the two: enum record_gpu_kind, and a copy's (its low 4 bits). */
static inline uint8_t kept_kind(uint32_t kind, uint32_t copy_kind)
{
	return (uint8_t)((kind & 15) | (copy_kind & 15) << 4);
}

static inline uint8_t kept_kind_work(uint8_t kept)
{
	return kept & 15;
}

static inline uint8_t kept_kind_copy(uint8_t kept)
{
	return kept >> 4;
}

struct kept_list {                 /* of a process */
	struct kept_piece *recent; /* owns; since kept_log_saved() */
	uint32_t nr_recent, room_recent;
	uint32_t nr_blocks; /* in the store, also those that were removed */
	uint32_t level;
	bool raised; /* the level rose since kept_log_saved(): pieces below it must go from the store */
	uint64_t nr_pieces;
	uint64_t counts[KEPT_WINDOW_LEVELS]; /* of these, by kept_piece.level */
};

struct kept_log;

/* NULL: out of memory. kept_log_destroy() accepts NULL. */
struct kept_log *kept_log_create(void);
void kept_log_destroy(struct kept_log *log);

/* Keeps a sample of a process (ids are the store's, from 1 without gaps) unless it does not stay, or is of a call.
 * realtime_offset_ns: CLOCK_REALTIME - CLOCK_MONOTONIC, always the same for a process. 0 or -ENOMEM. */
int kept_log_sample(struct kept_log *log, uint32_t process, const struct host_sample *sample,
		    int64_t realtime_offset_ns);

/* The process sends or receives: its newest GPU work is kept. It has ended: that work goes. 0 or -ENOMEM. */
int kept_log_exchanges(struct kept_log *log, uint32_t process);
void kept_log_end(struct kept_log *log, uint32_t process);

/* Returns whether GPU work that starts at a time stays. kept_log_work() keeps such work; its kind is below
 * RECORD_GPU_SYNC. sort: not KEPT_HOST. nr_ranks: of the job; 0 or less: not known. 0 or -ENOMEM. */
bool kept_log_wants(const struct kept_log *log, enum kept_sort sort, uint32_t process,
		    int32_t nr_ranks, uint64_t start_ns);
int kept_log_work(struct kept_log *log, enum kept_sort sort, uint32_t process, int32_t nr_ranks,
		  const struct gpu_record *record, uint32_t tid, uint32_t stack_id);

/* Returns whether samples of a process came, and its level. */
bool kept_log_has_samples(const struct kept_log *log, uint32_t process);
uint32_t kept_log_level(const struct kept_log *log, enum kept_sort sort, uint32_t process);

/* For the store, by id less one (zeroes: nothing); borrowed until the next call that adds. sort: below KEPT_LISTS. */
const struct kept_list *kept_log_lists(const struct kept_log *log, enum kept_sort sort,
				       uint32_t *count);

/* The same of KEPT_NEWEST, with NULLs. */
struct kept_newest *const *kept_log_newest(const struct kept_log *log, uint32_t *count);

/* Returns the levels of recent pieces: bit n is set if some are of level n. */
uint32_t kept_list_levels(const struct kept_list *list);

/* The store has written one block for each level of recent pieces. */
void kept_log_saved(struct kept_log *log);

/* Load into a fresh log: a process's level, then all pieces at each of its levels, with the number of all its blocks.
 * 0; -EINVAL: no log saved this; -ENOMEM. */
int kept_log_load_level(struct kept_log *log, enum kept_sort sort, uint32_t process,
			uint32_t level);
int kept_log_load(struct kept_log *log, enum kept_sort sort, uint32_t process, uint32_t level,
		  uint32_t nr_blocks, uint64_t nr_pieces);

#endif
