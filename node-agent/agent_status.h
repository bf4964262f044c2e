/* The agent's status for other threads. */
#ifndef AGENT_STATUS_H
#define AGENT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "node-agent/publish/event_way.h"
#include "proto/ledger.h"

#define AGENT_STOP_ALL (-2) /* in place of a rank, for agent_stopped() */

struct agent_status {
	uint64_t processes;         /* accepted so far */
	uint64_t processes_running; /* of these, the ones whose end was not seen yet */
	uint64_t watches;           /* calls of agent_watch() that are done */
	/* complete passes over all rings; a pass sends all that was in the rings when it began, up to sent_seq */
	uint64_t passes;
	uint64_t launches, records; /* read from rings */
	uint64_t samples;           /* of host threads */
	uint64_t sent_seq, acked_seq;
	uint64_t unacked_bytes,
		oldest_ns; /* of publisher_unacked_bytes() and publisher_oldest_ns() */
	uint64_t lost
		[LEDGER_REASONS]; /* as of the last quarter of a second; class LEDGER_LOST alone */
	uint64_t refused_guests;
	uint64_t capturing;    /* processes whose capture is on or ending */
	bool asked_to_leave;   /* an attached agent: the user wants it to end */
	bool reached;          /* the aggregator's endpoint has accepted a connection before */
	bool connected;        /* welcomed, and the connection holds */
	bool welcomed;         /* the aggregator has welcomed this agent */
	enum event_way way;    /* of publisher_way() */
	uint64_t key_refusals; /* connections that failed because the keys do not fit */
	bool has_problem; /* the aggregator does not accept us for now, and a line has said why */
	/* the place of the job's profile, as the aggregator's WELCOME said; "": it said none. Borrowed until
	 * agent_destroy() */
	const char *profile;
};

#endif
