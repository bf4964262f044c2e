/* Decides when a profile is committed: a short time after the first change, and not soon after another commit. It comes
 * sooner if much has come or an agent waits, and again some time after a failure. It also decides whether a commit is
 * whole or stores the messages alone, which costs a small part of that. Whole commits that nothing asks for take a
 * fixed share of the thread's time; those for which a reader asks may take more of it. Acknowledgements follow commits
 * (ack_sender.h), so before a long whole commit the messages are stored. Pure: time and sizes are arguments. */
#ifndef COMMIT_SCHEDULE_H
#define COMMIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define COMMIT_SCHEDULE_INTERVAL_MS 100u
#define COMMIT_SCHEDULE_APART_MS    500u  /* from the begin of one commit to that of the next */
#define COMMIT_SCHEDULE_RETRY_MS    1000u /* after a commit that failed */
/* A commit does not wait for the interval once one of these is reached. */
#define COMMIT_SCHEDULE_BYTES  (16u << 20) /* received since the last commit */
#define COMMIT_SCHEDULE_SPARE  (4u << 20)  /* that are kept until the whole commit begins */
#define COMMIT_SCHEDULE_FRAMES 512u        /* of one agent; half of its window */
#define COMMIT_SCHEDULE_ROWS   (1u << 18)  /* of totals that are not yet committed */
/* Each process has rows of its own in a whole commit. So these are added for each of them to the bytes and rows. */
#define COMMIT_SCHEDULE_PROCESS_BYTES 4096u
#define COMMIT_SCHEDULE_PROCESS_ROWS  64u
/* Definitions since the last whole commit. If they are most of what came, the next commit is whole: mostly all nodes
 * have the same ones, so that it costs less than to store their messages. */
#define COMMIT_SCHEDULE_DEFINITIONS (1u << 20)

/* After a whole commit the next whole one comes so many times its CPU time later, but no later than that many ms. Where
 * that would be sooner than COMMIT_SCHEDULE_APART_MS, as in all small profiles, every commit is whole. */
#define COMMIT_SCHEDULE_WHOLE_TIMES 250u
#define COMMIT_SCHEDULE_WHOLE_MS    10000u
/* Of CPU time. After a whole commit that took so long, messages are stored before the next one: agents would wait for
 * its whole length. */
#define COMMIT_SCHEDULE_LONG_MS 10u
/* The first commit after a long whole one does not take all messages that came meanwhile. So the second one comes
 * after this time, not after COMMIT_SCHEDULE_APART_MS. */
#define COMMIT_SCHEDULE_LATE_MS 200u
/* The same as COMMIT_SCHEDULE_WHOLE_TIMES if a reader wants it (store_life.h). */
#define COMMIT_SCHEDULE_WANTED_TIMES 20u
/* The same while agents wait for their last acknowledgement, but no later than COMMIT_SCHEDULE_APART_MS. So agents that
 * end together share a commit. */
#define COMMIT_SCHEDULE_HURRY_TIMES 4u

struct commit_schedule { /* zeroed: nothing to commit */
	bool changed;    /* since the last commit; code that changes the profile sets it */
	bool hurry;      /* an agent waits for its last acknowledgement */
	bool whole;     /* the next commit must be: readers wait, or no message tells of a change */
	bool behind;    /* messages were stored since the last whole commit */
	bool failed;    /* the last commit failed */
	bool follows;   /* messages were stored so that the next commit, a whole one, can begin */
	bool late;      /* messages that came during a long whole commit may not be stored yet */
	bool dated;     /* at_ns is valid */
	uint64_t at_ns; /* CLOCK_MONOTONIC, as all times here */
	uint64_t began_ns;         /* the last commit; 0: there was none */
	uint64_t cpu_ns;           /* that the last whole one took */
	uint64_t whole_ns;         /* from then on the next commit is whole */
	uint64_t wanted_ns;        /* from then on it is if a reader wants it */
	uint64_t hurry_ns;         /* from then on hurry counts */
	uint64_t bytes;            /* received since the last commit */
	uint64_t behind_bytes;     /* received before it, since the last whole one */
	uint64_t definition_bytes; /* of both; code that takes definitions adds them */
	uint32_t nr_processes;     /* of the profile; code that commits sets it */
	uint64_t frames; /* received since the last commit, of the agent from which most came */
};

/* Notes that an agent waits for the acknowledgement of so many frames. */
void commit_schedule_note(struct commit_schedule *schedule, uint64_t frames);

/* Call it after each possible change: sets the time of the next commit, if there is none, to interval_ms from now. 0:
 * COMMIT_SCHEDULE_INTERVAL_MS, but COMMIT_SCHEDULE_APART_MS after the last commit. */
void commit_schedule_date(struct commit_schedule *schedule, uint64_t now_ns, uint32_t interval_ms);

/* nr_rows: rows of totals that are not yet committed. */
bool commit_schedule_is_due(const struct commit_schedule *schedule, uint64_t now_ns,
			    uint32_t nr_rows);

/* Returns whether a commit now is to be whole. */
bool commit_schedule_is_whole(const struct commit_schedule *schedule, uint64_t now_ns,
			      uint32_t nr_rows);

/* Returns whether a commit that is to be whole stores the messages alone, and the whole one follows. */
bool commit_schedule_tells_first(const struct commit_schedule *schedule);

/* Returns whether a commit now that is not whole is to be, if a reader wants it. */
bool commit_schedule_heeds_readers(const struct commit_schedule *schedule, uint64_t now_ns);

/* Returns whether a commit may store messages. Once false, it stays so until a whole commit has succeeded. */
bool commit_schedule_takes_messages(const struct commit_schedule *schedule);

/* Returns whether the store has everything, in its tables. */
bool commit_schedule_is_clean(const struct commit_schedule *schedule);

/* The time until which to wait for messages: that of the next commit, or until_ns if that is earlier. */
uint64_t commit_schedule_until(const struct commit_schedule *schedule, uint64_t until_ns);

/* A whole commit that began at this time has succeeded, with so much CPU time. */
void commit_schedule_done(struct commit_schedule *schedule, uint64_t began_ns, uint64_t cpu_ns);
/* A commit of messages alone has succeeded. follows: the next commit is a whole one, and is due. */
void commit_schedule_logged(struct commit_schedule *schedule, uint64_t began_ns, bool follows);
/* A commit has failed. */
void commit_schedule_fail(struct commit_schedule *schedule, uint64_t now_ns);

#endif
