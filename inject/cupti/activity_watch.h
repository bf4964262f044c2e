/* Notices when another user of CUPTI's activity API takes GPU records away, and takes them back later. The API is
 * global to the process, and reports nothing about other users. A user that registers callbacks replaces those of the
 * previous user, whose buffers then reach the new user. A user that disables a kind does so for all. So the PyTorch
 * profiler's sessions end the guest's records.
 *
 * The sign is that launches go on, but no record has come for some flushes. The watch then has CUPTI write the records
 * of all contexts, which CUPTI does at any time, and sees whom they reach:
 *   - They reach the guest: its callbacks still hold. Its kinds may be off, so it enables them again, which changes
 *     nothing if the GPU is only late. The time at which the next records' work began tells whether the GPU was
 *     late.
 *   - They do not reach the guest: the other user's session may still be on, and is left alone. Launches meanwhile
 *     have no records. After some more flushes the guest registers and enables again. It cannot know whether the
 *     other session is over by then.
 * Pure but for its calls of CUPTI, notices and the ledger. Only the helper thread calls it. */
#ifndef ACTIVITY_WATCH_H
#define ACTIVITY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define ACTIVITY_WATCH_ENV      "FLAMEGRID_PROFILER_PATIENCE" /* flushes; 0: never takes up again */
#define ACTIVITY_WATCH_PATIENCE 120u                          /* flushes: a minute */
#define ACTIVITY_WATCH_ROUNDS   4u  /* flushes without records before it asks CUPTI */
#define ACTIVITY_WATCH_LAUNCHES 32u /* launches without records before it asks */

struct cupti_library;
struct definition_writer;
struct record_ring;

/* Counts since the start; only earliest_ns is since the last call. */
struct activity_watch_counts {
	uint64_t launches;  /* launches that must give records: neither failed nor captured */
	uint64_t records;   /* of GPU work */
	uint64_t resources; /* records of contexts and streams */
	/* CUPTI's clock: when the first work began of the records that came since the last call; UINT64_MAX: no record
	 * came */
	uint64_t earliest_ns;
};

enum activity_watch_state {
	ACTIVITY_WATCH_OURS = 0,
	ACTIVITY_WATCH_ASKED,   /* CUPTI writes the contexts' records */
	ACTIVITY_WATCH_WAITING, /* these records reached us: kinds are on again, or always were */
	ACTIVITY_WATCH_TAKEN,   /* these records did not reach us */
	ACTIVITY_WATCH_LENT,    /* the records are lent to a session that the guest knows of */
};

/* A new watch is zeroed except for the parts. */
struct activity_watch {
	struct record_ring *ring; /* this and the next three are borrowed for good */
	struct definition_writer *definitions;
	const struct cupti_library *library;
	void (*take_up)(bool callbacks); /* enables the kinds; with `callbacks`, registers before */
	uint32_t patience;               /* flushes */
	enum activity_watch_state state;
	/* flushes in this state; in OURS only those with launches */
	uint32_t rounds;
	uint64_t records, resources;       /* as of the last record that came */
	uint64_t base_launches;            /* as of then: launches after it have no records yet */
	uint64_t launches;                 /* as of the last call */
	uint64_t again_ns, again_launches; /* WAITING: when the kinds were enabled again */
	uint64_t taken_at_ns;              /* CLOCK_REALTIME */
	uint64_t address_space; /* bytes that the process may map; UINT64_MAX: no limit */
	bool starved;           /* no record has come, and that limit may be the reason */
	bool taken_said, back_said;
};

/* Sets *watch up with its parts, and reads the patience from the environment. */
void activity_watch_init(struct activity_watch *watch, struct record_ring *ring,
			 struct definition_writer *definitions, const struct cupti_library *library,
			 void (*take_up)(bool callbacks));

/* Call it after each flush. */
void activity_watch_step(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* Counts the missing records. Call it after the last flush, which is forced, and before which activity_watch_ask() may
 * have asked. */
void activity_watch_finish(struct activity_watch *watch,
			   const struct activity_watch_counts *counts);

/* Counts the missing records of the launches until now, and begins anew. Call it instead of a step if the guest has
 * left CUPTI and taken it up again since the last step. Does not call CUPTI. */
void activity_watch_renew(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* Counts all launches without a record as missing, because their records will not come, and begins anew. Call it
 * instead of a step when another user ended CUPTI, after the last flush. Does not call CUPTI. */
void activity_watch_lost(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* Tells that another user's session begins, after a flush: launches have no records from now on. Does nothing if the
 * session had begun already. */
void activity_watch_lend(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* Tells that this session is over: registers, enables, and counts. */
void activity_watch_take_back(struct activity_watch *watch,
			      const struct activity_watch_counts *counts);

/* Has CUPTI write records of all contexts, if there is reason to. Call it before the last flush. */
void activity_watch_ask(struct activity_watch *watch, const struct activity_watch_counts *counts);

#endif
