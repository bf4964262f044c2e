/* struct agent, for its own files alone: agent.c makes it, and agent_loop.c runs it. Each of its jobs has a struct
 * agent_NAME here and its functions in agent_NAME.c. Single-threaded but for the exchange. */
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
#include "node-agent/publish/publisher_lag.h"
#include "proto/batch/message.h"
#include "proto/control.h"

struct batch_builder;
struct guest_control;
struct guest_listener;
struct guest_offers;
struct left_out;
struct link_reader;
struct numa_map;
struct predecessor_table;
struct process_table;
struct publisher;
struct refused_guests;
struct run_table;
struct symbolizer;
struct table_keeper;
struct counter_reader;
struct telemetry_reader;
struct user_shares;

struct agent_endpoint {
	char *text;        /* owns */
	bool is_known;     /* false: text only says that it is not known */
	bool leaves_words; /* agent_options.leaves_words */
	bool refusal_said,
		problem_said; /* once each: the agent tries again every few seconds, for days */
};

struct agent_socket {
	struct guest_listener *listener; /* owns; NULL: the agent ends, and takes in no guest */
	uint32_t nr_guests;              /* taken in so far */
	uint64_t nr_refused;             /* peers that a closed listener had refused */
	uint64_t nr_full;                /* guests that found no place */
	uint64_t next_full_ns;           /* time at which the log may say so again */
	struct {
		struct control_reply head;
		struct control_result result;
	} result; /* the last one that a client asked for */
};

struct agent_absence {
	struct refused_guests
		*refused;            /* guests that may ask again, or end without a place; owns */
	struct guest_offers *offers; /* owns; NULL: offers are not known */
	uint64_t offers_ns;          /* time to read more offers; UINT64_MAX: all were read */
	bool offer_waits;            /* for a place in the register */
};

struct agent_unrecorded {
	struct fair_shares named; /* entries in this period */
	uint64_t period_end_ns;
	struct left_out *left_out; /* users' processes that wait for the period's end; owns */
	uint64_t nr_nameless;      /* processes without the memory or the process id for an entry */
};

struct agent_pass {
	uint64_t busy_interval_ns; /* between passes over busy rings */
	uint64_t interval_ns;      /* between passes now; grows while rings are idle */
	uint64_t next_ns;          /* time of the next pass */
	uint64_t count;            /* complete passes */
	uint32_t turn; /* process with which the next pass begins, so that all share the room */
	bool has_all_samples; /* the last pass has read all samples of host threads */
	bool has_more;        /* the last pass has left records in rings */
	bool waits_for_room;  /* in the publisher's window */
	bool waits_for_stack; /* the kernel still writes the stack of a launch that was read */
	bool waits_for_names; /* names for an untrusted process have not come yet */
	bool delays;          /* a few records were left for a later pass (read_delay.h) */
	uint64_t lost[LEDGER_REASONS]; /* what ended processes lost */
	bool has_ended;                /* a process has ended, and memory should be given back */
};

enum agent_phase {
	PHASE_RUNNING,
	PHASE_CLOSING,  /* after agent_stop(): processes that still run end their capture windows */
	PHASE_DRAINING, /* last passes over all rings */
	PHASE_NAMING,   /* everything is read; names are still looked up */
	PHASE_LEAVING,  /* BYE is sent */
	PHASE_DONE,
};

struct agent_end {
	enum agent_phase phase;
	uint64_t give_up_ns; /* the longest time from PHASE_DRAINING to PHASE_DONE */
	uint64_t close_ns;   /* the time at which PHASE_CLOSING is over at last */
	uint64_t sums_ns;   /* and at which it is over as no guest captures; UINT64_MAX: one does */
	uint64_t stop_ns;   /* from PHASE_DRAINING on: the time at which the agent gives up */
	bool leaves_guests; /* guests run that the next agent will read on: this agent sends no BYE */
};

struct agent {
	struct event_loop *loop; /* owns, and all below */
	struct event_source publisher_ready, symbolizer_ready;
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct user_shares *shares;
	struct device_list devices;
	struct numa_map *numa; /* NULL: the machine has no NUMA nodes to tell apart */
	struct link_reader *links;
	struct cubin_cache *cubins;
	struct telemetry_reader *telemetry;
	struct counter_reader *counters; /* NULL: they are not sampled */
	struct publisher *publisher;
	struct publisher_lag lag;
	struct batch_builder *builder;
	struct symbolizer *symbolizer;
	struct table_keeper *tables;
	struct frame_names names;
	struct bpf_source *bpf;     /* NULL: host threads are not recorded */
	struct probe_source *probe; /* NULL: guests walk their stacks themselves */
	struct process_table *processes;
	struct guest_control *control;
	struct run_table *runs;
	struct predecessor_table *predecessors; /* NULL: no later agent will read on */
	struct guest_process_scope scope;
	uint8_t epoch[WIRE_EPOCH_SIZE];
	uint32_t nr_processes;          /* the newest process id */
	struct fair_shares process_ids; /* of guests, and of processes that could not be recorded */
	struct agent_endpoint endpoint;
	struct agent_socket socket;
	struct agent_absence absence;
	struct agent_unrecorded unrecorded;
	struct agent_pass pass;
	struct agent_end end;
	uint64_t begin_ns, begin_cpu_ns;     /* of agent_cost.c */
	uint64_t next_step_ns, next_beat_ns; /* of agent_loop.c */
	uint64_t nr_watches;                 /* calls of agent_watch() that are done */
	uint64_t lost[LEDGER_REASONS];       /* by all processes, as of the last sum */
	uint64_t next_lost_ns;               /* time of the next sum */
	struct agent_exchange exchange;      /* with other threads */
};

#endif
