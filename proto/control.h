/* How the guests of a running agent are commanded: one SOCK_SEQPACKET exchange over the socket on which guests come in
 * (handshake.h), after which both sides close it.
 *	client -> agent: struct control_request
 *	agent -> client: struct control_reply, and behind it a struct control_process for each, or, for
 *	  CONTROL_RESULT, a struct control_result
 * The agent trusts only SO_PEERCRED for who speaks: its own user and root command all guests, others their own. Plain
 * data. */
#ifndef CONTROL_H
#define CONTROL_H

#include <assert.h>
#include <stdint.h>

#define CONTROL_MAGIC         0x46474d43u /* "FGMC" */
#define CONTROL_VERSION       1u
#define CONTROL_PROCESSES_MAX 1024u

enum control_wish {
	CONTROL_STATUS = 0, /* nothing but the reply */
	/* to the guest `pid`; or to all, those that are still to come included */
	CONTROL_COMMAND = 1,
	/* an agent that was attached ends the capture, writes the profile and goes */
	CONTROL_LEAVE = 2,
	CONTROL_RESULT = 3, /* what became of the processes of this user's run */
};

struct control_request {
	uint32_t magic, version;
	uint32_t wish;              /* enum control_wish */
	uint32_t pid;               /* as the agent sees it; 0: all */
	uint32_t action;            /* CONTROL_COMMAND: enum record_ring_action */
	uint32_t run;               /* CONTROL_RESULT: as in struct guest_hello; else 0 */
	uint64_t from_ns, until_ns; /* as in struct record_ring_command */
};

enum control_status {
	CONTROL_OK = 0,
	CONTROL_REFUSED_VERSION = 1,
	CONTROL_REFUSED_USER = 2,
	CONTROL_NO_PROCESS = 3,   /* no guest, or none of this user, has this pid */
	CONTROL_NOT_ATTACHED = 4, /* CONTROL_LEAVE to an agent that stays */
};

struct control_reply {
	uint32_t magic, version;
	uint32_t status;       /* enum control_status */
	uint32_t nr_processes; /* that follow */
};

struct control_process {
	uint32_t pid;        /* 0: not visible from the agent */
	uint32_t state;      /* enum record_ring_capture_state, as the guest says */
	uint32_t nr_windows; /* opened so far, as the guest says */
	uint32_t reserved;   /* 0 */
};

#define CONTROL_WHY_SIZE   256u /* with their NULs, both */
#define CONTROL_PLACE_SIZE 1024u

struct control_result {
	uint32_t nr_processes; /* taken in */
	uint32_t nr_running;   /* of them */
	uint32_t nr_absent;    /* that could not be recorded */
	uint32_t is_stored;    /* all of them have ended, and the aggregator has stored all */
	uint64_t launches, records, lost; /* of those that have ended; lost: by the ledger */
	uint64_t unclean;    /* processes that ended without a goodbye; their loss is not known */
	uint64_t taken_over; /* processes that went over from an earlier agent */
	char why[CONTROL_WHY_SIZE]; /* why the first process that could not be recorded was not */
	char place[CONTROL_PLACE_SIZE]; /* where the profile is, HOST:PATH; "": not known */
};

static_assert(sizeof(struct control_result) == 1336, "control format");
static_assert(sizeof(struct control_request) == 40, "control format");
static_assert(sizeof(struct control_reply) == 16, "control format");
static_assert(sizeof(struct control_process) == 16, "control format");

#endif
