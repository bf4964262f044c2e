/* How a client commands the guests of a running agent: one SOCK_SEQPACKET exchange over the socket on which guests
 * connect (handshake.h). Then both sides close it.
 *	client -> agent: struct control_request
 *	agent -> client: struct control_reply, then nr_processes times struct control_process
 *	CONTROL_RESULT: struct control_reply, then one struct control_result
 * The agent identifies the client by SO_PEERCRED alone (rights: node-agent/guests/control_rights.h). Plain data. */
#ifndef CONTROL_H
#define CONTROL_H

#include <assert.h>
#include <stdint.h>

#define CONTROL_MAGIC         0x46474d43u /* "FGMC" */
#define CONTROL_VERSION       1u
#define CONTROL_PROCESSES_MAX 1024u

enum control_wish {
	CONTROL_STATUS = 0, /* asks for the reply alone */
	/* commands the guest `pid`; 0: all guests, those that will come later included */
	CONTROL_COMMAND = 1,
	/* the agent of `flamegrid attach` ends the capture, writes the profile and exits */
	CONTROL_LEAVE = 2,
	CONTROL_RESULT = 3, /* asks for the result of this user's run */
};

struct control_request {
	uint32_t magic, version;
	uint32_t wish;              /* enum control_wish */
	uint32_t pid;               /* as the agent sees it; 0: all */
	uint32_t action;            /* CONTROL_COMMAND: enum record_ring_action */
	uint32_t run;               /* CONTROL_RESULT: guest_hello.run; else 0 */
	uint64_t from_ns, until_ns; /* as in struct record_ring_command */
};

enum control_status {
	CONTROL_OK = 0,
	CONTROL_REFUSED_VERSION = 1,
	CONTROL_REFUSED_USER = 2,
	CONTROL_NO_PROCESS = 3,   /* no guest of this user has this pid */
	CONTROL_NOT_ATTACHED = 4, /* CONTROL_LEAVE to an agent that `flamegrid attach` did not start */
};

struct control_reply {
	uint32_t magic, version;
	uint32_t status;       /* enum control_status */
	uint32_t nr_processes; /* structs that follow */
};

struct control_process {
	uint32_t pid;        /* 0: not visible from the agent */
	uint32_t state;      /* enum record_ring_capture_state, as the guest says */
	uint32_t nr_windows; /* opened so far, as the guest says */
	uint32_t reserved;   /* 0 */
};

#define CONTROL_WHY_SIZE   256u  /* with the NUL */
#define CONTROL_PLACE_SIZE 1024u /* with the NUL */

struct control_result {
	uint32_t nr_processes; /* processes that the agent recorded */
	uint32_t nr_running;   /* of these, the ones that still run */
	uint32_t nr_absent;    /* processes that could not be recorded */
	uint32_t is_stored;    /* 1: all have ended, and the aggregator has stored all their data */
	uint64_t launches, records, lost; /* sums over ended processes; lost: by the ledger */
	uint64_t unclean;    /* processes that ended without a goodbye; their loss is not known */
	uint64_t taken_over; /* processes that an earlier agent recorded before */
	char why[CONTROL_WHY_SIZE]; /* why the first process that could not be recorded was not */
	char place[CONTROL_PLACE_SIZE]; /* the profile's place, HOST:PATH; "": not known */
};

static_assert(sizeof(struct control_result) == 1336, "control format");
static_assert(sizeof(struct control_request) == 40, "control format");
static_assert(sizeof(struct control_reply) == 16, "control format");
static_assert(sizeof(struct control_process) == 16, "control format");

#endif
