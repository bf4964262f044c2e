/* Reads one process for the agent, from its handshake to its last PROCESS message. Only the agent loop calls it. */
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

struct cubin_cache;
struct guest_register;
struct numa_map;
struct predecessor_table;
struct process_ledger;
struct record_ring_command;

#define GUEST_PROCESS_LEDGER_INTERVAL_NS 500000000ull
/* after an end without a goodbye, because `run` may report a stop late */
#define GUEST_PROCESS_VERDICT_NS 500000000ull
#define GUEST_PROCESS_BATCHES    8u
/* Limit of a process's names and paths that are not acknowledged yet, unless the process is trusted. */
#define GUEST_PROCESS_TEXT_MAX (256u << 10)

struct guest_process;
struct symbolizer_module;
struct user_shares;
struct fair_shares;
struct link_reader;
struct telemetry_reader;

/* State that all processes share; borrowed until the last guest_process_destroy(). */
struct guest_process_scope {
	struct guest_register *reg; /* guests that are not stored yet; NULL: no register is kept */
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct user_shares *shares;    /* shares of strings and stacks */
	struct cubin_cache *cubins;    /* of the node */
	struct batch_builder *builder; /* its sink is publisher_send() */
	struct publisher *publisher;
	const struct device_list *devices;
	const struct numa_map *numa;        /* NULL: places of threads are not recorded */
	struct link_reader *links;          /* NULL: links of GPUs are not recorded */
	struct telemetry_reader *telemetry; /* NULL: telemetry of GPUs is not recorded */
	struct counter_reader *counters;    /* NULL: their counters are not sampled */
	/* Number of process ids given so far. A process gets its id with its first message. */
	uint32_t *nr_processes;
	struct fair_shares *process_ids; /* ids given to each user */
	int (*module)(void *context, const struct symbolizer_module *module); /* module_table.h */
	void (*notice)(void *context, const char *text);
	void *context;
	const uint8_t *epoch; /* our own epoch */
	/* earlier agents, whose work we continue; NULL: we continue no agent's work */
	struct predecessor_table *predecessors;
	bool begins_anew; /* records from before a guest came are not ours (agent.h: attached) */
};

/* Creates the reader of a process. It takes the arrival's ring, also on error. process_id: the process's id if it has
 * one already; 0: none yet. 0 or -ENOMEM; on error *process is NULL. */
int guest_process_create(uint32_t process_id, const struct guest_arrival *arrival,
			 const struct guest_process_scope *scope, struct guest_process **process);
void guest_process_destroy(struct guest_process *process); /* accepts NULL */

/* Returns whether the arrival is this same guest again, with the same memory. */
bool guest_process_is(const struct guest_process *process, const struct guest_arrival *arrival);

/* Return the process's pid and owner, by the kernel's word; pid 0: not visible from here. */
pid_t guest_process_pid(const struct guest_process *process);
uid_t guest_process_uid(const struct guest_process *process);

/* guest_process_command() tells the guest what to capture. guest_process_capture() returns what the guest says it does:
 * an enum record_ring_capture_state. */
void guest_process_command(struct guest_process *process,
			   const struct record_ring_command *command);
uint32_t guest_process_capture(const struct guest_process *process, uint32_t *nr_windows);

/* Returns whether its capture is on or still ending, or the end of its window was not read yet. The guest counts a
 * window before it tells of its end. False after its goodbye. */
bool guest_process_is_capturing(const struct guest_process *process);

/* Sends the process's description, unless it was sent before, so that data from other sources can name the process. 0
 * or -errno: the agent can't go on. */
int guest_process_introduce(struct guest_process *process, uint32_t *process_id);

/* Returns the process's ledger, for counts from other sources (process_ledger_set()). Borrowed until
 * guest_process_destroy(). */
struct process_ledger *guest_process_ledger(const struct guest_process *process);

/* Returns whether the guest has said that CUPTI is not available, and has not captured since. */
bool guest_process_is_blocked(const struct guest_process *process);

/* Adds a line of our own to the process's notices. If there is no room, the line is dropped. */
void guest_process_add_notice(struct guest_process *process, const char *line);

/* Returns whether guest_process_end() was called: this pass or the next one is the last. */
bool guest_process_is_ending(const struct guest_process *process);

/* Enters the guest, which is ours now, in the register. It stays until it is stored, or goes to another agent. */
void guest_process_register(struct guest_process *process, const struct guest_hello *hello);

/* Tells the guest that its agent lives. */
void guest_process_beat(struct guest_process *process, uint64_t now_ns);

/* Ends the process, because it is gone (died) or the agent is about to go. The next pass that begins is the last. */
void guest_process_end(struct guest_process *process, bool died);

/* Lets the kernel walk the stacks of launches from now on; probe holds them, and is borrowed until
 * guest_process_destroy(). The getter returns NULL if the process walks its stacks itself. */
struct probe_stacks;
void guest_process_set_probe(struct guest_process *process, struct probe_stacks *probe);
struct probe_stacks *guest_process_probe(const struct guest_process *process);

/* Note, and return, whether an attempt was made to let the kernel walk its stacks. */
void guest_process_tried(struct guest_process *process);
bool guest_process_was_tried(const struct guest_process *process);

/* Lets the process walk its stacks itself from now on. Stacks on their way are still joined with their launches. */
void guest_process_leave_probe(struct guest_process *process);

/* Notes that the user or a scheduler has stopped the process by a signal. If it ends without a goodbye, it counts as
 * end (LEDGER_INTERRUPTED_END or LEDGER_TERMINATED_END). */
void guest_process_stop(struct guest_process *process, enum ledger_reason end);

/* Notes that its recording should not have ended yet. If the process runs on after the agent goes, and no other agent
 * continues, it counts as LEDGER_CUT_OFF. */
void guest_process_cut_off(struct guest_process *process);

/* Says that no report of a stop will come any more: the process's end waits for none. */
void guest_process_hurry(struct guest_process *process);

int32_t guest_process_rank(const struct guest_process *process);

/* Begins a pass, unless one is under way. The pass reads everything that the guest has published by now. false: there
 * is nothing to read.
 *
 * For a guest with a probe, the caller makes this call before it reads the kernel's events, so that each launch of the
 * pass has its stack. For other guests guest_process_pass() makes it. */
bool guest_process_begin(struct guest_process *process, uint64_t now_ns);

/* Reads everything that was published when the pass began, and sends it as far as the window has room. It sends at most
 * GUEST_PROCESS_BATCHES messages, so that one process does not hold up the others. A guest with a probe has no such
 * limit, because only so many of the kernel's stacks can wait for its launches.
 *   - 4: the pass is complete, but left a few records for a later one (read_delay.h).
 *   - 3: names that it sent have to arrive before the rest.
 *   - 2: the rest is due at once; call again.
 *   - 1: there was no room for all of it; call again.
 *   - 0: the pass is complete, or none has begun.
 *   - -errno: the agent can't go on. */
int guest_process_pass(struct guest_process *process, uint64_t now_ns);

/* Returns whether the last pass is complete and everything was sent: the caller may then destroy the process. */
bool guest_process_is_over(const struct guest_process *process);

/* Returns whether the process is over for us, but runs on. */
bool guest_process_is_left(const struct guest_process *process);

/* Gives the guest the room back of all messages up to seq, which are acknowledged. */
void guest_process_release(struct guest_process *process, uint64_t seq);

/* guest_process_run() returns the `flamegrid run --agent` to which the process belongs; 0: none.
 * guest_process_add_lost() adds what its ledger counts as lost, by enum ledger_reason, and returns the sum. */
uint32_t guest_process_run(const struct guest_process *process);
uint64_t guest_process_add_lost(const struct guest_process *process,
				uint64_t lost[static LEDGER_REASONS]);
/* it is gone without a goodbye */
bool guest_process_is_unclean(const struct guest_process *process);

/* Returns whether an earlier agent has read its ring. */
bool guest_process_is_taken_over(const struct guest_process *process);

/* Returns how many launches and records of it earlier agents have passed on. */
void guest_process_passed_on(const struct guest_process *process, uint64_t *launches,
			     uint64_t *records);

/* Return the number of launches and of GPU records read so far. */
uint64_t guest_process_launches(const struct guest_process *process);
uint64_t guest_process_records(const struct guest_process *process);

#endif
