/* What an aggregator would know of what one agent sends, checked as it comes: no gap, nothing named before it is
 * defined. Fails the running test on any error. */
#ifndef AGGREGATOR_VIEW_H
#define AGGREGATOR_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ledger.h"
#include "proto/batch/message.h"
#include "tests/node-agent/publish/router_fixture.h"

#define AGGREGATOR_VIEW_WAIT_MS   20000
#define AGGREGATOR_VIEW_PROCESSES 1100u
#define AGGREGATOR_VIEW_STRINGS   4096u

struct aggregator_view_process {
	uint32_t pid, state, nr_notices;
	int32_t rank;
	uint64_t launches, records, ledger[LEDGER_REASONS];
	uint32_t nr_devices;
	struct message_device device;
	char command[256], job[32];
	char notice[256]; /* the last */
};

/* Embedded. */
struct aggregator_view {
	struct router_fixture *router; /* owns */
	uint64_t seq;                  /* received without a gap */
	struct aggregator_view_process processes[AGGREGATOR_VIEW_PROCESSES + 1]; /* by id */
	char *strings[AGGREGATOR_VIEW_STRINGS + 1];                              /* owns; by id */
	uint32_t nr_strings, nr_frames, nr_native, nr_nodes, nr_symbols, nr_named;
	bool bye;
};

/* Zeroed memory; binds a port of its own. */
void aggregator_view_init(struct aggregator_view *view);
void aggregator_view_fini(struct aggregator_view *view);

/* Borrowed until fini; all zero before anything is told of it. */
struct aggregator_view_process *aggregator_view_process(struct aggregator_view *view,
							uint32_t process_id);

/* Takes one frame and answers it. false: none came in time. */
bool aggregator_view_serve(struct aggregator_view *view, int wait_ms);

/* Until so many processes have ended, or until the agent says goodbye. */
void aggregator_view_serve_until_ended(struct aggregator_view *view, uint32_t processes);
void aggregator_view_serve_until_bye(struct aggregator_view *view);

#endif
