/* struct agent as its files see it: agent.c makes it and takes others' wishes, agent_loop runs it, and agent_absence
 * tells of processes that could not be recorded. Single-threaded but for the exchange. */
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
	PHASE_CLOSING,  /* agent_stop(): processes that run on end their capture windows */
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
	struct numa_map *numa; /* NULL: of no interest */
	struct publisher *publisher;
	struct batch_builder *builder;
	struct symbolizer *symbolizer;
	struct frame_names names;
	struct process_table *processes;
	struct guest_listener *listener;
	struct guest_control *control;
	struct run_table *runs;
	struct refused_guests *refused; /* ask again, or end without a place */
	struct guest_offers *offers;    /* of guests; NULL: nothing is known of them */
	uint64_t offers_ns;             /* when to look at more; UINT64_MAX: all was looked at */
	struct {
		struct control_reply head;
		struct control_result result;
	} result;                   /* the last that was asked for */
	struct bpf_source *bpf;     /* NULL: nothing of host threads */
	struct probe_source *probe; /* NULL: guests walk their stacks themselves */
	struct guest_process_scope scope;
	struct event_source publisher_ready, symbolizer_ready;
	char *endpoint;
	bool has_endpoint; /* else that says that it is not known */
	bool leaves_words;
	uint8_t epoch[WIRE_EPOCH_SIZE];
	struct predecessor_table *predecessors;
	uint64_t drain_interval_ns, give_up_ns;
	enum phase phase;
	uint32_t nr_guests;             /* ever taken in */
	uint32_t nr_processes;          /* the newest process id */
	struct fair_shares process_ids; /* of guests, and of processes that could not be recorded */
	struct fair_shares absences;    /* the latter, as named in this period */
	uint64_t absent_ns;             /* when the period ends */
	struct left_out *left_out;      /* those that were not named (agent_absence.h); owns */
	uint64_t nr_nameless;           /* those for which there was no memory, nor an id */
	uint64_t interval_ns, next_pass_ns, next_step_ns, next_beat_ns, close_ns, stop_ns;
	bool waits_for_stack; /* the kernel is writing one that belongs to a launch at hand */
	uint64_t nr_passes, nr_watches;
	bool refusal_said, turned_down_said;
	uint64_t nr_full,
		next_full_ns; /* processes that found no place, and when to say so again */
	uint32_t turn;        /* with whom the next pass begins: room in the window is for all */
	bool has_more;        /* in rings, within the pass at hand */
	bool waits_for_names; /* of an untrusted process, to arrive */
	bool has_ended;       /* a process, whose memory is to be given back */
	bool waits_for_room, leaves_guests, has_all_samples;
	uint64_t refused_guests;
	struct agent_exchange exchange; /* with other threads */
};

#endif
