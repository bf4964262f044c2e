/* struct agent, for its own files alone: agent.c makes it and takes requests, agent_loop runs it, and agent_absence
 * reports processes that could not be recorded. Single-threaded but for the exchange. */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent_exchange.h"
#include "frame_names.h"

#include "node-agent/base/device_list.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/base/fair_shares.h"
#include "node-agent/guests/guest_process.h"
#include "proto/batch/message.h"
#include "proto/control.h"

struct batch_builder;
struct guest_control;
struct guest_listener;
struct guest_offers;
struct left_out;
struct numa_map;
struct predecessor_table;
struct process_table;
struct publisher;
struct refused_guests;
struct run_table;
struct symbolizer;
struct user_shares;

enum phase {
	PHASE_RUNNING,
	PHASE_CLOSING,  /* after agent_stop(): processes that still run end their capture windows */
	PHASE_DRAINING, /* last passes over all rings */
	PHASE_NAMING,   /* everything is read; names are still looked up */
	PHASE_LEAVING,  /* BYE is sent */
	PHASE_DONE,
};

struct agent {
	struct event_loop *loop; /* owns, and all below */
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct user_shares *shares;
	struct device_list devices;
	struct numa_map *numa; /* NULL: the machine has no NUMA nodes to tell apart */
	struct publisher *publisher;
	struct batch_builder *builder;
	struct symbolizer *symbolizer;
	struct frame_names names;
	struct process_table *processes;
	struct guest_listener *listener;
	struct guest_control *control;
	struct run_table *runs;
	struct refused_guests *refused; /* guests that may ask again, or end without a place */
	struct guest_offers *offers;    /* NULL: offers are not known */
	uint64_t offers_ns;             /* time to read more offers; UINT64_MAX: all were read */
	struct {
		struct control_reply head;
		struct control_result result;
	} result;                   /* the last one that a client asked for */
	struct bpf_source *bpf;     /* NULL: host threads are not recorded */
	struct probe_source *probe; /* NULL: guests walk their stacks themselves */
	struct guest_process_scope scope;
	struct event_source publisher_ready, symbolizer_ready;
	char *endpoint;
	bool has_endpoint; /* false: endpoint is a text that says so */
	bool leaves_words;
	uint8_t epoch[WIRE_EPOCH_SIZE];
	struct predecessor_table *predecessors;
	uint64_t drain_interval_ns, give_up_ns;
	enum phase phase;
	uint32_t nr_guests;             /* guests accepted so far */
	uint32_t nr_processes;          /* the newest process id */
	struct fair_shares process_ids; /* of guests, and of processes that could not be recorded */
	struct fair_shares absences;    /* entries of unrecorded processes in this period */
	uint64_t absent_ns;             /* end of the period */
	struct left_out *left_out;      /* unrecorded processes without an entry (agent_absence.h); owns */
	uint64_t nr_nameless;           /* unrecorded processes without memory or an id for an entry */
	uint64_t interval_ns, next_pass_ns, next_step_ns, next_beat_ns, close_ns, stop_ns;
	bool waits_for_stack; /* the kernel still writes the stack of a launch that was read */
	uint64_t nr_passes, nr_watches;
	bool refusal_said, turned_down_said;
	uint64_t nr_full;      /* processes that found no place */
	uint64_t next_full_ns; /* time at which the log may say so again */
	uint32_t turn;         /* process with which the next pass begins, so that all share the window's room */
	bool has_more;         /* this pass has left records in rings */
	bool waits_for_names;  /* names for an untrusted process have not come yet */
	bool has_ended;        /* a process has ended, and memory should be given back */
	bool offer_waits;      /* an offer waits for a place in the register */
	bool waits_for_room, leaves_guests, has_all_samples;
	uint64_t refused_guests;
	struct agent_exchange exchange; /* with other threads */
};

#endif
