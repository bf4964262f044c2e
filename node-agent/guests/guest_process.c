#include "guest_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_notices.h"
#include "guest_register.h"
#include "predecessor.h"
#include "process_description.h"
#include "process_ledger.h"
#include "process_placement.h"
#include "process_statistics.h"
#include "ring_ownership.h"
#include "ring_source.h"

#include "node-agent/base/fair_shares.h"
#include "node-agent/dictionary/user_shares.h"
#include "node-agent/files/proc_file.h"
#include "proto/ring/record_ring.h"

struct guest_process {
	const struct guest_process_scope *scope;
	uint32_t process_id;
	struct process_description *description; /* owns */
	struct process_ledger *ledger;           /* owns */
	struct process_statistics *statistics;   /* owns */
	struct process_placement *placement;     /* owns; NULL: not wanted */
	struct user_share *share;                /* borrowed, and joined */
	struct ring_source *source;              /* owns */
	struct ring_ownership ownership;         /* of the source's ring */
	struct probe_stacks *probe;              /* borrowed; NULL: guest walks its stacks */
	uint64_t text;                           /* bytes of names that are stored, or more */
	uint64_t text_seq;                       /* the message with the newest names; 0: none */
	uint64_t ledger_ns;                      /* when the ledger was last looked at */
	bool watched;                            /* the end of the process can be seen */
	bool in_pass, finished, died, ending, last_pass, over, registered;
	bool tried;             /* to watch the guest's probe */
	bool cut_off;           /* the recording was not meant to end yet */
	bool taken_over;        /* an earlier agent read from the ring */
	bool hurries;           /* reports its end without waiting for a cause */
	uint64_t died_ns;       /* time when the end was first seen; 0: not seen */
	enum ledger_reason end; /* cause of an end without a goodbye */
	uint64_t passed_on_launches, passed_on_records; /* by earlier agents */
	pid_t pid;
	uid_t uid;
	uint32_t run;
	uint8_t instance[HANDSHAKE_INSTANCE_SIZE];
};

int guest_process_create(uint32_t process_id, const struct guest_arrival *arrival,
			 const struct guest_process_scope *scope, struct guest_process **process)
{
	struct guest_process *new_process = calloc(1, sizeof(*new_process));

	*process = NULL;
	if (!new_process) {
		record_ring_unmap(arrival->ring);
		return -ENOMEM;
	}
	new_process->scope = scope;
	new_process->process_id = process_id;
	new_process->watched = arrival->pid > 0;
	new_process->pid = arrival->pid;
	new_process->uid = arrival->uid;
	new_process->run = arrival->hello->run;
	memcpy(new_process->instance, arrival->hello->instance, sizeof(new_process->instance));
	ring_ownership_init(&new_process->ownership, arrival->ring, scope->epoch);
	new_process->end = LEDGER_UNCLEAN_END;
	new_process->ledger = process_ledger_create();
	new_process->description = process_description_create(
		process_id, arrival->pid, arrival->hello, scope->strings, scope->devices);
	new_process->statistics = process_statistics_create();
	new_process->share = user_share_join(scope->shares, arrival->uid);
	if (!new_process->ledger || !new_process->description || !new_process->statistics ||
	    !new_process->share) {
		record_ring_unmap(arrival->ring);
		guest_process_destroy(new_process);
		return -ENOMEM;
	}
	/* Without memory the placement stays unknown. Threads have other numbers in another pid namespace. */
	bool has_pids = arrival->pid > 0 &&
			arrival->hello->pid_namespace == proc_file_pid_namespace(getpid());
	const struct process_placement_sources sources = {has_pids ? scope->numa : NULL,
							  scope->links, scope->telemetry,
							  scope->counters, scope->devices};
	new_process->placement = process_placement_create(&sources, arrival->pid);
	struct ring_outputs outputs = {
		.strings = scope->strings,
		.stacks = scope->stacks,
		.description = new_process->description,
		.ledger = new_process->ledger,
		.statistics = new_process->statistics,
		.cubins = scope->cubins,
		.share = new_process->share,
		.placement = new_process->placement,
		.module = scope->module,
		.notice = scope->notice,
		.context = scope->context,
	};
	int r = ring_source_create(arrival->ring, &outputs, arrival->pid, arrival->uid,
				   &new_process->source);
	if (r) {
		guest_process_destroy(new_process);
		return r;
	}
	/* The ring is taken before the guest is told to do anything. */
	if (scope->begins_anew) {
		ring_ownership_take_anew(&new_process->ownership);
		r = ring_source_forget(new_process->source);
		if (r) {
			guest_process_destroy(new_process);
			return r;
		}
	}
	*process = new_process;
	return 0;
}

void guest_process_destroy(struct guest_process *process)
{
	if (!process)
		return;
	/* Nothing is told of a guest that went to another agent, so its entry goes. The entry of a guest that was never
	 * accepted may be an earlier agent's, and stays. */
	if (process->registered)
		guest_register_told(process->scope->reg, process->uid, process->instance, 0);
	ring_ownership_fini(&process->ownership);
	ring_source_destroy(process->source);
	process_description_destroy(process->description);
	process_ledger_destroy(process->ledger);
	process_statistics_destroy(process->statistics);
	process_placement_destroy(process->placement);
	user_share_leave(process->share);
	free(process);
}

bool guest_process_is(const struct guest_process *process, const struct guest_arrival *arrival)
{
	/* The kernel may no longer tell the pid of a process that has ended. */
	return (process->pid == arrival->pid || arrival->pid == 0) &&
	       process->uid == arrival->uid && !process->over &&
	       memcmp(process->instance, arrival->hello->instance, sizeof(process->instance)) == 0;
}

pid_t guest_process_pid(const struct guest_process *process)
{
	return process->pid;
}

uid_t guest_process_uid(const struct guest_process *process)
{
	return process->uid;
}

void guest_process_command(struct guest_process *process, const struct record_ring_command *command)
{
	record_ring_command(process->ownership.ring, command);
}

uint32_t guest_process_capture(const struct guest_process *process, uint32_t *nr_windows)
{
	return record_ring_capture(process->ownership.ring, nr_windows);
}

bool guest_process_is_capturing(const struct guest_process *process)
{
	uint32_t nr_windows, state = record_ring_capture(process->ownership.ring, &nr_windows);

	if (process->ending || process->finished || state == RECORD_RING_CAPTURE_BLOCKED)
		return false;
	return state == RECORD_RING_CAPTURE_ON || state == RECORD_RING_CAPTURE_ENDING ||
	       ring_source_has_open_window(process->source);
}

void guest_process_register(struct guest_process *process, const struct guest_hello *hello)
{
	(void)guest_register_add(process->scope->reg, process->pid, process->uid, hello);
	process->registered = true;
}

void guest_process_beat(struct guest_process *process, uint64_t now_ns)
{
	record_ring_beat(process->ownership.ring, now_ns);
}

/* Takes over a ring that an earlier agent read. It reads nothing until the aggregator has told where to begin. If the
 * aggregator is another one or refuses, reading begins where the earlier agent had released. */
static bool take_over(struct guest_process *process, uint64_t now_ns)
{
	uint8_t before[RECORD_RING_EPOCH];
	uint64_t durable_seq = 0;
	int r = -ENOENT;

	if (process->scope->predecessors &&
	    ring_ownership_claim(process->ownership.ring, process->scope->epoch, before) ==
		    RING_CLAIM_ASK) {
		process->taken_over = true;
		r = predecessor_table_ask(process->scope->predecessors, before, process->uid,
					  now_ns, &durable_seq);
	}
	if (r == -EAGAIN)
		return false;
	if (r == 0)
		ring_ownership_take_after(&process->ownership, durable_seq);
	else
		ring_ownership_take(&process->ownership);
	record_ring_passed_on(process->ownership.ring, &process->passed_on_launches,
			      &process->passed_on_records);
	/* An agent that was killed while it took the ring has left it without an owner. */
	process->taken_over |= process->passed_on_launches || process->passed_on_records;
	return true;
}

void guest_process_end(struct guest_process *process, bool died)
{
	process->ending = true;
	if (died)
		process->died = true;
}

void guest_process_stop(struct guest_process *process, enum ledger_reason end)
{
	process->end = end;
}

void guest_process_cut_off(struct guest_process *process)
{
	process->cut_off = true;
}

void guest_process_hurry(struct guest_process *process)
{
	process->hurries = true;
}

int32_t guest_process_rank(const struct guest_process *process)
{
	return process_description_rank(process->description);
}

/* Returns whether the end's cause is known. An agent with predecessors runs beside the jobs, and learns of no stop. */
static bool is_end_known(struct guest_process *process, uint64_t now_ns)
{
	if (process->died && !process->died_ns)
		process->died_ns = now_ns;
	return !process->died || process->finished || process->hurries ||
	       process->scope->predecessors || process->end != LEDGER_UNCLEAN_END ||
	       now_ns - process->died_ns >= GUEST_PROCESS_VERDICT_NS;
}

static uint32_t next_id(struct guest_process *process)
{
	fair_shares_take(process->scope->process_ids, process->uid);
	return ++*process->scope->nr_processes;
}

static int send_description(struct guest_process *process)
{
	struct message message;
	int r = batch_builder_flush_dictionaries(process->scope->builder);

	if (r == 0 && process_description_changed(process->description)) {
		if (process->process_id == 0)
			process->process_id = next_id(process);
		process_description_message(process->description, &message);
		message.process.process_id = process->process_id;
		r = publisher_send(process->scope->publisher, &message);
		if (r == 0)
			guest_register_told(process->scope->reg, process->uid, process->instance,
					    publisher_last_seq(process->scope->publisher));
	}
	return r;
}

int guest_process_introduce(struct guest_process *process, uint32_t *process_id)
{
	int r = process->process_id == 0 ? send_description(process) : 0;

	*process_id = process->process_id;
	return r;
}

void guest_process_set_probe(struct guest_process *process, struct probe_stacks *probe)
{
	process->probe = probe;
	ring_source_set_probe(process->source, probe);
}

void guest_process_tried(struct guest_process *process)
{
	process->tried = true;
}

bool guest_process_was_tried(const struct guest_process *process)
{
	return process->tried;
}

void guest_process_leave_probe(struct guest_process *process)
{
	ring_source_leave_probe(process->source);
}

struct probe_stacks *guest_process_probe(const struct guest_process *process)
{
	return process->probe;
}

struct process_ledger *guest_process_ledger(const struct guest_process *process)
{
	return process->ledger;
}

bool guest_process_is_blocked(const struct guest_process *process)
{
	uint32_t nr_windows, state = record_ring_capture(process->ownership.ring, &nr_windows);

	return state == RECORD_RING_CAPTURE_BLOCKED ||
	       (state == RECORD_RING_CAPTURE_OFF && nr_windows == 0 &&
		ring_source_lacks_cupti(process->source));
}

void guest_process_add_notice(struct guest_process *process, const char *line)
{
	process_description_add_notice(process->description, line, strlen(line));
}

bool guest_process_is_ending(const struct guest_process *process)
{
	return process->ending;
}

/* Sent after the process is known, and before its end. */
static int send_streams(struct guest_process *process)
{
	struct message message;

	if (!process_description_streams(process->description, &message))
		return 0;
	message.streams.process_id = process->process_id;
	return publisher_send(process->scope->publisher, &message);
}

/* These come alone: no record for a batch has been read since the last message. */
static int send_alone(struct guest_process *process)
{
	struct message message;

	return ring_source_alone(process->source, process->process_id, &message)
		       ? publisher_send(process->scope->publisher, &message)
		       : 0;
}

static bool has_records(const struct guest_process *process)
{
	return batch_builder_has_records(process->scope->builder) ||
	       ring_source_has_alone(process->source);
}

static int send_batch(struct guest_process *process)
{
	struct publisher *publisher = process->scope->publisher;
	uint64_t before = publisher_last_seq(publisher);
	int64_t clock_offset_ns;
	bool clock_valid = ring_source_clock(process->source, &clock_offset_ns);
	int r = send_description(process);

	if (r == 0)
		r = send_streams(process);
	/* The announcement is in the ring before the message can leave, because the agent may be killed next. */
	if (r == 0 && has_records(process))
		r = ring_ownership_announce(&process->ownership, publisher_last_seq(publisher) + 1);
	if (r == 0)
		r = send_alone(process);
	if (r == 0)
		r = batch_builder_flush(process->scope->builder, process->process_id,
					clock_offset_ns, clock_valid);
	if (r == 0 && publisher_last_seq(publisher) != before)
		r = ring_ownership_sent(&process->ownership, publisher_last_seq(publisher));
	return r;
}

static int publish(void *context, struct message *message)
{
	return publisher_send(context, message);
}

/* Rows of statistics replace rows that were sent before, so they can wait while there is no room. */
static int send_statistics(struct guest_process *process)
{
	struct publisher *publisher = process->scope->publisher;

	if (!process->last_pass && !publisher_has_room(publisher))
		return 0;
	int r = batch_builder_flush_dictionaries(process->scope->builder);
	return r ? r
		 : process_statistics_send(process->statistics, process->process_id, publish,
					   publisher);
}

/* Rows of placement also replace earlier rows. */
static int send_placement(struct guest_process *process, uint64_t now_ns)
{
	struct publisher *publisher = process->scope->publisher;
	struct message message;

	if (!process->last_pass && !publisher_has_room(publisher))
		return 0;
	int r = process_placement_message(process->placement, process->scope->strings, now_ns,
					  &message);
	if (r != 1)
		return r;
	message.placement.process_id = process->process_id;
	r = agent_notices_counters(process->description, &message.placement, process->scope->notice,
				   process->scope->context);
	if (r == 0)
		r = batch_builder_flush_dictionaries(process->scope->builder);
	return r ? r : publisher_send(publisher, &message);
}

static int send_ledger(struct guest_process *process, uint64_t now_ns)
{
	struct message message = {.type = MESSAGE_LEDGER,
				  .ledger = {.process_id = process->process_id}};

	if (!process->last_pass && now_ns - process->ledger_ns < GUEST_PROCESS_LEDGER_INTERVAL_NS)
		return 0;
	process->ledger_ns = now_ns;
	process_description_read_late(process->description);
	process_placement_look(process->placement, now_ns);
	int r = send_statistics(process);
	if (r == 0)
		r = send_placement(process, now_ns);
	if (r)
		return r;
	r = ring_source_update_ledger(process->source);
	if (r != 1)
		return r;
	message.ledger.entries =
		process_ledger_entries(process->ledger, &message.ledger.nr_entries);
	return publisher_send(process->scope->publisher, &message);
}

/* The ledger goes before the state, since an ended process sends nothing more. */
static int send_end(struct guest_process *process, uint64_t now_ns)
{
	bool unclean = process->died && !process->finished;
	bool left = !process->died && !process->finished;

	if (unclean)
		process_ledger_count(process->ledger, LEDGER_DEVICE_NONE, process->end, 1);
	if (left && process->cut_off && !process->scope->predecessors)
		process_ledger_count(process->ledger, LEDGER_DEVICE_NONE, LEDGER_CUT_OFF, 1);
	int r = send_ledger(process, now_ns);
	if (r)
		return r;
	/* The guest runs on without the agent, and nothing is awaited that would tell of its end. */
	if (left)
		record_ring_beat(process->ownership.ring, 0);
	agent_notices_unread(process->description);
	if (unclean)
		process_description_set_state(process->description, PROCESS_UNCLEAN);
	else if (process->finished)
		process_description_set_state(process->description, PROCESS_ENDED);
	process->over = true;
	return send_description(process);
}

bool guest_process_begin(struct guest_process *process, uint64_t now_ns)
{
	if (!process->ownership.taken && !take_over(process, now_ns))
		return false;
	if (!ring_ownership_holds(&process->ownership)) {
		process->over = true; /* the guest went to another agent, which reports all of it */
		return false;
	}
	if (!process->in_pass) {
		/* A process that has ended writes no more, so this pass sees everything. */
		const bool is_gone = process->ending;

		process->finished =
			ring_source_begin(process->source, is_gone || process->probe, now_ns);
		process->last_pass = is_gone && is_end_known(process, now_ns);
		process->in_pass = true;
		if (process->last_pass && (process->died || process->finished))
			ring_source_abandon(process->source);
	}
	return true;
}

/* A hostile process can make any number of names, so it waits until those that were sent are stored. */
static bool waits_for_names(struct guest_process *process)
{
	uint64_t text = ring_source_text(process->source);

	if (process->hurries || user_share_is_trusted(process->share))
		return false;
	if (publisher_acked_seq(process->scope->publisher) >= process->text_seq)
		process->text = text;
	return text - process->text >= GUEST_PROCESS_TEXT_MAX;
}

int guest_process_pass(struct guest_process *process, uint64_t now_ns)
{
	uint32_t nr_batches = 0;
	int r;

	if (process->probe ? !process->in_pass : !guest_process_begin(process, now_ns))
		return 0;
	do {
		if (nr_batches++ == GUEST_PROCESS_BATCHES && !process->probe)
			return 2;
		if (!publisher_has_room(process->scope->publisher) ||
		    !ring_ownership_can_announce(&process->ownership))
			return 1;
		if (waits_for_names(process))
			return 3;
		uint64_t text = ring_source_text(process->source);
		r = ring_source_read(process->source, process->scope->builder);
		int sent = r < 0 ? r : send_batch(process);
		if (sent)
			return sent;
		if (ring_source_text(process->source) != text)
			process->text_seq = publisher_last_seq(process->scope->publisher);
	} while (r == 1);
	process->in_pass = false;
	if (process->finished && !process->watched)
		process->ending = true;
	if (process->last_pass && !ring_source_waits_for_lines(process->source, now_ns))
		return send_end(process, now_ns);
	r = send_ledger(process, now_ns);
	return r == 0 && ring_source_delays(process->source) ? 4 : r;
}

bool guest_process_is_over(const struct guest_process *process)
{
	return process->over;
}

bool guest_process_is_left(const struct guest_process *process)
{
	return process->over && !process->died && !process->finished;
}

void guest_process_release(struct guest_process *process, uint64_t seq)
{
	ring_ownership_acknowledged(&process->ownership, seq);
}

uint32_t guest_process_run(const struct guest_process *process)
{
	return process->run;
}

uint64_t guest_process_add_lost(const struct guest_process *process,
				uint64_t lost[static LEDGER_REASONS])
{
	uint32_t nr;
	const struct ledger_entry *entries = process_ledger_entries(process->ledger, &nr);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t reason = entries[i].reason;

		if (ledger_reason_class(reason) != LEDGER_LOST) /* unknown reasons are not */
			continue;
		lost[reason] = ledger_add_saturating(lost[reason], entries[i].count);
		sum = ledger_add_saturating(sum, entries[i].count);
	}
	return sum;
}

bool guest_process_is_unclean(const struct guest_process *process)
{
	return process->died && !process->finished;
}

bool guest_process_is_taken_over(const struct guest_process *process)
{
	return process->taken_over;
}

void guest_process_passed_on(const struct guest_process *process, uint64_t *launches,
			     uint64_t *records)
{
	*launches = process->passed_on_launches;
	*records = process->passed_on_records;
}

uint64_t guest_process_launches(const struct guest_process *process)
{
	return ring_source_launches(process->source);
}

uint64_t guest_process_records(const struct guest_process *process)
{
	return ring_source_records(process->source);
}
