/* Notices when another user of CUPTI's activity API takes GPU records away, and takes up again later.
 * That API is global to the process and tells nobody: who registers callbacks replaces those of the one
 * before (whose buffers then surface with the newcomer), and who disables a kind does so for all. So the
 * PyTorch profiler's sessions end the guest's records.
 *
 * What it goes by: launches go on, but for some flushes no record has come. Then it has CUPTI write the
 * records of all contexts, which CUPTI does at any time, and sees whom they reach:
 *	- us: our callbacks hold. Our kinds may be off, so they are enabled again, which changes nothing if the
 *	  GPU is only late. Whether it was is told by when the next records' work began.
 *	- nobody we know: the other's session may still be on, and is left alone. What is launched meanwhile is
 *	  without records. After some more flushes the guest registers and enables again. Nothing tells
 *	  whether the other's session is over by then.
 * Pure but for its calls of CUPTI, notices and the ledger; only the helper thread calls it. */
#ifndef ACTIVITY_WATCH_H
#define ACTIVITY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define ACTIVITY_WATCH_ENV      "FLAMEGRID_PROFILER_PATIENCE" /* flushes; 0: never takes up again */
#define ACTIVITY_WATCH_PATIENCE 120u                          /* that is a minute */
#define ACTIVITY_WATCH_ROUNDS   4u  /* flushes without records before it asks */
#define ACTIVITY_WATCH_LAUNCHES 32u /* and launches */

struct cupti_library;
struct definition_writer;
struct record_ring;

/* All of it since the start, but earliest_ns. */
struct activity_watch_counts {
	uint64_t launches;  /* that must give records: neither failed nor captured */
	uint64_t records;   /* of GPU work */
	uint64_t resources; /* records of contexts and streams */
	/* CUPTI's clock: when the first work began, of the records that have come since the last call; UINT64_MAX:
	 * none has */
	uint64_t earliest_ns;
};

enum activity_watch_state {
	ACTIVITY_WATCH_OURS = 0,
	ACTIVITY_WATCH_ASKED,   /* the contexts' records are on their way to somebody */
	ACTIVITY_WATCH_WAITING, /* they reached us: kinds are on again, or were all the time */
	ACTIVITY_WATCH_TAKEN,   /* they did not */
	ACTIVITY_WATCH_LENT,    /* to a session that is known of */
};

/* Zeroed but for the parts: new. */
struct activity_watch {
	struct record_ring *ring; /* these four borrowed for good */
	struct definition_writer *definitions;
	const struct cupti_library *library;
	void (*take_up)(bool callbacks); /* enables the kinds, with `callbacks` registers before */
	uint32_t patience;               /* flushes */
	enum activity_watch_state state;
	uint32_t rounds;                   /* in this state, with launches */
	uint64_t records, resources;       /* as of the last sign of life */
	uint64_t base_launches;            /* as of then: those after have no records yet */
	uint64_t launches;                 /* as of the last call */
	uint64_t again_ns, again_launches; /* WAITING: when the kinds were enabled again */
	uint64_t taken_at_ns;              /* CLOCK_REALTIME */
	uint64_t address_space; /* bytes that the process may have; UINT64_MAX: no limit */
	bool starved;           /* no record has come, and that limit may be why */
	bool taken_said, back_said;
};

/* *watch with parts and what the environment says of patience. */
void activity_watch_init(struct activity_watch *watch, struct record_ring *ring,
			 struct definition_writer *definitions, const struct cupti_library *library,
			 void (*take_up)(bool callbacks));

/* After each flush. */
void activity_watch_step(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* After the last flush, a forced one, before which activity_watch_ask() may have asked: counts what is missing. */
void activity_watch_finish(struct activity_watch *watch,
			   const struct activity_watch_counts *counts);

/* In the place of a step, where CUPTI was left and taken up since the last one: counts what is missing of the launches
 * until then, and begins anew. Does not call CUPTI. */
void activity_watch_renew(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* In the place of a step: another user ended CUPTI, after its last flush. What has no record by now will have none, and
 * is counted; begins anew. Does not call CUPTI. */
void activity_watch_lost(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* Another's session that is known of begins, after a flush: what is launched from now on has no records. Nothing if it
 * has begun before. */
void activity_watch_lend(struct activity_watch *watch, const struct activity_watch_counts *counts);

/* It is over: registers and enables, and counts. */
void activity_watch_take_back(struct activity_watch *watch,
			      const struct activity_watch_counts *counts);

/* Has CUPTI write records of all contexts, if there is reason to. Before the last flush. */
void activity_watch_ask(struct activity_watch *watch, const struct activity_watch_counts *counts);

#endif
