/* What other threads hear from the agent's loop, and the one word that they share. */
#ifndef AGENT_STATUS_H
#define AGENT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define AGENT_STOP_ALL (-2) /* of agent_stopped(): in place of a rank */

struct agent_status {
	uint64_t processes;         /* ever taken in */
	uint64_t processes_running; /* not yet seen to end */
	uint64_t watches;           /* calls of agent_watch() that are done */
	/* complete ones over all rings: what was in them before a pass began is behind sent_seq after it */
	uint64_t passes;
	uint64_t launches, records; /* read from rings */
	uint64_t samples;           /* of host threads */
	uint64_t sent_seq, acked_seq;
	uint64_t refused_guests;
	uint64_t capturing;    /* processes whose capture is on, or is being ended */
	bool asked_to_leave;   /* of one that is attached: the user wants it to end */
	bool reached;          /* somebody at the aggregator's endpoint ever took a connection */
	bool connected;        /* WELCOME received and not lost since */
	bool welcomed;         /* ever */
	uint64_t key_refusals; /* connections that failed because keys do not fit */
	/* where the aggregator said, once welcomed, that the job's profile is, "": it did not. Borrowed until
	 * agent_destroy() */
	const char *profile;
};

#endif
