/* One process that the agent reads: from its handshake to its last PROCESS message.
 * Single-threaded: only the agent loop calls it. */
#ifndef GUEST_PROCESS_H
#define GUEST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "guest_listener.h"

#include "node-agent/base/device_list.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"

struct guest_register;
struct numa_map;
struct predecessor_table;
struct process_ledger;
struct record_ring_command;

#define GUEST_PROCESS_LEDGER_INTERVAL_NS 500000000ull
#define GUEST_PROCESS_VERDICT_NS                                                                   \
	500000000ull /* after an end without a goodbye: `run` tells late of a stop */
#define GUEST_PROCESS_BATCHES 8u
/* Names and paths of one process that are on their way, unless it is trusted. */
#define GUEST_PROCESS_TEXT_MAX (256u << 10)

struct guest_process;
struct symbolizer_module;
struct user_shares;
struct fair_shares;

/* What all processes share; borrowed until the last guest_process_destroy(). */
struct guest_process_scope {
	struct guest_register *reg; /* of guests that are not stored yet; NULL: none is kept */
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct user_shares *shares;    /* of the two */
	struct batch_builder *builder; /* its sink is publisher_send() */
	struct publisher *publisher;
	const struct device_list *devices;
	const struct numa_map *numa; /* NULL: it is of no interest where threads run */
	/* process ids that were given: each with the first word of its process */
	uint32_t *nr_processes;
	struct fair_shares *process_ids;                                      /* of each user */
	int (*module)(void *context, const struct symbolizer_module *module); /* module_table.h */
	void (*notice)(void *context, const char *text);
	void *context;
	const uint8_t *epoch; /* who we are */
	/* who was before us; NULL: nobody that we would go on for */
	struct predecessor_table *predecessors;
	bool begins_anew; /* what guests recorded before they came to us is not ours (agent.h: attached) */
};

/* Takes the arrival's ring, also on error. process_id: what the process is known by already; 0: it is not. 0 or
 * -ENOMEM; on error *process is NULL. */
int guest_process_create(uint32_t process_id, const struct guest_arrival *arrival,
			 const struct guest_process_scope *scope, struct guest_process **process);
void guest_process_destroy(struct guest_process *process); /* accepts NULL */

/* Whether it is this guest that speaks again, with the same memory. */
bool guest_process_is(const struct guest_process *process, const struct guest_arrival *arrival);

/* Whose it is, as the kernel says; pid 0: not visible from here. */
pid_t guest_process_pid(const struct guest_process *process);
uid_t guest_process_uid(const struct guest_process *process);

/* What the guest is to capture; and what it does, in its own words: enum record_ring_capture_state. */
void guest_process_command(struct guest_process *process,
			   const struct record_ring_command *command);
uint32_t guest_process_capture(const struct guest_process *process, uint32_t *nr_windows);

/* Its capture is on, or has not yet ended, and it has not said goodbye. */
bool guest_process_is_capturing(const struct guest_process *process);

/* Sends who it is, unless that was sent before, for what is known of the process by other means. 0 or -errno: the
 * agent can't go on. */
int guest_process_introduce(struct guest_process *process, uint32_t *process_id);

/* Borrowed until guest_process_destroy(), for what is counted elsewhere (process_ledger_set()). */
struct process_ledger *guest_process_ledger(const struct guest_process *process);

/* It has said that CUPTI cannot be had, and has not captured since. */
bool guest_process_is_blocked(const struct guest_process *process);

/* A line of ours among its notices. Without room for it, none. */
void guest_process_add_notice(struct guest_process *process, const char *line);

/* It was told to end: the pass at hand is the last, or the next. */
bool guest_process_is_ending(const struct guest_process *process);

/* The guest is ours: the register keeps it until it is stored, or goes to another agent. */
void guest_process_register(struct guest_process *process, const struct guest_hello *hello);

/* Tells the guest that its agent lives. */
void guest_process_beat(struct guest_process *process, uint64_t now_ns);

/* The process is gone (died), or the agent is about to go: the next pass that begins is the last.
 */
void guest_process_end(struct guest_process *process, bool died);

/* Where its launches have the stacks that the kernel walks; borrowed until guest_process_destroy(). NULL: it walks
 * them itself. */
struct probe_stacks;
void guest_process_set_probe(struct guest_process *process, struct probe_stacks *probe);
struct probe_stacks *guest_process_probe(const struct guest_process *process);

/* Whether somebody has tried to have them walked by the kernel. */
void guest_process_tried(struct guest_process *process);
bool guest_process_was_tried(const struct guest_process *process);

/* It walks them itself from now on. What is on its way is still joined. */
void guest_process_leave_probe(struct guest_process *process);

/* The user, or a scheduler, has stopped it by a signal: should it end without a goodbye, it counts as this
 * (LEDGER_INTERRUPTED_END or LEDGER_TERMINATED_END). */
void guest_process_stop(struct guest_process *process, enum ledger_reason end);

/* Its recording was not to end yet: should the process run on when the agent goes, and no other agent go on in its
 * place, it counts as LEDGER_CUT_OFF. */
void guest_process_cut_off(struct guest_process *process);

/* Nobody will tell any more. */
void guest_process_hurry(struct guest_process *process);

int32_t guest_process_rank(const struct guest_process *process);

/* Begins a pass, unless one is under way: the pass reads what the guest has published by now. A guest with a probe
 * needs this call before the kernel's events are read: each launch of the pass then has its stack. For others
 * guest_process_pass() makes it. false: there is nothing to read. */
bool guest_process_begin(struct guest_process *process, uint64_t now_ns);

/* Reads what was published by the time that the pass began, and sends it as far as the window has
 * room, but not more than GUEST_PROCESS_BATCHES messages, so that nobody waits long for what one
 * process wrote. (A guest with a probe has no such limit: the kernel's stacks wait for its launches, and for only so
 * many.) 3: names that it sent have to arrive before the rest; 2: the rest is due at once, call again; 1: there was no
 * room for all of it, call again; 0: the pass is complete, or none has begun; -errno: the agent can't go on. */
int guest_process_pass(struct guest_process *process, uint64_t now_ns);

/* The last pass is complete and everything about the process was sent: it may be destroyed. */
bool guest_process_is_over(const struct guest_process *process);

/* It is over for us, but runs on. */
bool guest_process_is_left(const struct guest_process *process);

/* Everything up to seq is acknowledged: gives the guest its room back. */
void guest_process_release(struct guest_process *process, uint64_t seq);

/* Which `flamegrid run --agent` it belongs to; 0: none. What its ledger counts as lost. */
uint32_t guest_process_run(const struct guest_process *process);
uint64_t guest_process_lost(const struct guest_process *process);
bool guest_process_is_unclean(const struct guest_process *process); /* gone without a goodbye */

/* An earlier agent read of it. */
bool guest_process_is_taken_over(const struct guest_process *process);

/* What earlier agents have passed on of it. */
void guest_process_passed_on(const struct guest_process *process, uint64_t *launches,
			     uint64_t *records);

/* Records read so far. */
uint64_t guest_process_launches(const struct guest_process *process);
uint64_t guest_process_records(const struct guest_process *process);

#endif
