#include "agent_absence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_state.h"
#include "run_table.h"

#include "base/log.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_offers.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_description.h"
#include "node-agent/guests/refused_guests.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "proto/absence.h"

/* A user's processes that the profile does not name. */
struct left_out {
	struct left_out *next;
	uid_t uid;
	uint64_t count;
	struct process_description *first; /* owns */
	enum process_state state;          /* of the first */
};

/* Writes a process that could not be recorded into the profile. 0; -ENOSPC: the user has no process id left; other
 * -errno: no memory. */
static int publish(struct agent *agent, uid_t uid, struct process_description *description,
		   const char *why, enum process_state state)
{
	struct message message;
	int r = process_description_add_notice(description, why, strlen(why));

	if (r < 0)
		return r;
	if (!fair_shares_may_take(&agent->process_ids, uid, WIRE_ID_MAX - agent->nr_processes))
		return -ENOSPC;
	r = batch_builder_flush_dictionaries(agent->builder);
	if (r)
		return r;
	process_description_set_state(description, state);
	process_description_message(description, &message);
	fair_shares_take(&agent->process_ids, uid);
	message.process.process_id = ++agent->nr_processes;
	return publisher_send(agent->publisher, &message);
}

/* NULL: none of the user's. */
static struct left_out *find_left_out(const struct agent *agent, uid_t uid)
{
	struct left_out *left_out = agent->left_out;

	while (left_out && left_out->uid != uid)
		left_out = left_out->next;
	return left_out;
}

static bool may_name(struct agent *agent, uid_t uid)
{
	return fair_shares_may_take(&agent->absences, uid,
				    AGENT_ABSENCES_MAX - agent->absences.total);
}

/* Takes the description. */
static void leave_out(struct agent *agent, uid_t uid, struct process_description *description,
		      enum process_state state)
{
	struct left_out *left_out = find_left_out(agent, uid);

	if (left_out) {
		left_out->count++;
		process_description_destroy(description);
		return;
	}
	left_out = malloc(sizeof(*left_out));
	if (!left_out) {
		agent->nr_nameless++;
		process_description_destroy(description);
		return;
	}
	*left_out = (struct left_out){agent->left_out, uid, 1, description, state};
	agent->left_out = left_out;
}

/* Takes the description; NULL: there was no memory for it. Returns whether the newest message names it. */
static bool tell(struct agent *agent, uid_t uid, struct process_description *description,
		 const char *why, enum process_state state)
{
	if (!description) {
		agent->nr_nameless++;
		return false;
	}
	if (!may_name(agent, uid) || publish(agent, uid, description, why, state)) {
		leave_out(agent, uid, description, state);
		return false;
	}
	fair_shares_take(&agent->absences, uid);
	process_description_destroy(description);
	return true;
}

/* One entry for all of them, which is tried again until it can be written. No user has an entry left to be written, so
 * whoever is to be told of later is among them. */
static void tell_nameless(struct agent *agent)
{
	const struct guest_hello nobody = {0};
	struct process_description *description;
	char why[ABSENCE_SIZE];

	if (agent->nr_nameless == 0)
		return;
	description = process_description_create(0, 0, &nobody, agent->strings, &agent->devices);
	snprintf(why, sizeof(why),
		 ABSENCE_FAILED "%" PRIu64 " processes, which are not named: the agent of this "
				"node had no memory to describe them, or no process id for them",
		 agent->nr_nameless);
	if (description && publish(agent, geteuid(), description, why, PROCESS_ENDED) == 0) {
		agent->nr_nameless = 0;
		guest_register_counted(agent->scope.reg, GUEST_REGISTER_ALL,
				       publisher_last_seq(agent->publisher));
	}
	process_description_destroy(description);
}

/* One entry for each user. */
static void tell_left_out(struct agent *agent)
{
	while (agent->left_out) {
		struct left_out *left_out = agent->left_out;
		char why[ABSENCE_SIZE];

		snprintf(why, sizeof(why),
			 ABSENCE_FAILED
			 "this process and %llu others of its user, "
			 "which are not named: too many could not be recorded",
			 (unsigned long long)left_out->count - 1);
		if (publish(agent, left_out->uid, left_out->first, why, left_out->state) == 0)
			guest_register_counted(agent->scope.reg, left_out->uid,
					       publisher_last_seq(agent->publisher));
		else
			agent->nr_nameless += left_out->count;
		agent->left_out = left_out->next;
		process_description_destroy(left_out->first);
		free(left_out);
	}
	tell_nameless(agent);
}

void agent_absence_settled(void *context, uid_t uid, const struct guest_hello *hello)
{
	struct agent *agent = context;

	guest_offers_settle(agent->offers, uid, hello);
}

/* A guest that is not recorded is told of in the message `seq`, or is counted (GUEST_REGISTER_LATER). Its offer goes
 * once the register keeps it: if we are killed before that message is stored, the next agent tells of it. */
static void told(struct agent *agent, uid_t uid, const struct guest_hello *hello, uint64_t seq)
{
	/* The process may have ended, and its pid may be another's. */
	(void)guest_register_add(agent->scope.reg, 0, uid, hello);
	guest_register_told(agent->scope.reg, uid, hello->instance, seq);
	guest_offers_settle(agent->offers, uid, hello);
}

/* One that is only counted is not described: its words would take ids from all users. */
static bool count_alone(struct agent *agent, uid_t uid, const struct guest_hello *hello,
			const char *why)
{
	struct left_out *left_out = find_left_out(agent, uid);

	if (!left_out || may_name(agent, uid))
		return false;
	left_out->count++;
	told(agent, uid, hello, GUEST_REGISTER_LATER);
	run_table_absent(agent->runs, hello->run, uid, why, publisher_last_seq(agent->publisher));
	return true;
}

/* Takes the description; NULL: there was no memory for it. */
static void tell_guest(struct agent *agent, uid_t uid, const struct guest_hello *hello,
		       struct process_description *description, const char *why)
{
	bool is_named = tell(agent, uid, description, why,
			     strcmp(why, ABSENCE_GONE) == 0 ? PROCESS_UNCLEAN : PROCESS_ENDED);

	told(agent, uid, hello,
	     is_named ? publisher_last_seq(agent->publisher) : GUEST_REGISTER_LATER);
	run_table_absent(agent->runs, hello->run, uid, why, publisher_last_seq(agent->publisher));
}

void agent_absence_heard(void *context, pid_t pid, uid_t uid, const struct guest_absence *absence)
{
	struct agent *agent = context;
	struct guest_hello hello = {
		.magic = HANDSHAKE_MAGIC,
		.version = HANDSHAKE_VERSION,
		.pid = absence->pid,
		.run = absence->run,
		.start_ticks = absence->start_ticks,
		.pid_namespace = absence->pid_namespace,
	};
	const struct guest_arrival arrival = {.pid = pid, .uid = uid, .hello = &hello};
	char text[ABSENCE_SIZE];
	const char *why = absence_text(absence, text, sizeof(text));

	memcpy(hello.instance, absence->instance, sizeof(hello.instance));
	bool is_kept = guest_register_add(agent->scope.reg, pid, uid, &hello) == -EEXIST;
	if (!refused_guests_forget(agent->refused, &arrival) && is_kept) {
		/* An agent before us has heard it, and we have told of it already. */
		guest_offers_settle(agent->offers, uid, &hello);
		return;
	}
	if (!count_alone(agent, uid, &hello, why))
		tell_guest(agent, uid, &hello,
			   process_description_create(0, pid, &hello, agent->strings,
						      &agent->devices),
			   why);
}

static void on_end(void *context, const struct refused_guest *guest)
{
	tell_guest(context, guest->uid, &guest->hello, guest->description, guest->why);
}

void agent_absence_answered(struct agent *agent, const struct guest_arrival *arrival,
			    enum handshake_status status)
{
	struct process_description *description;

	if (status == HANDSHAKE_OK)
		refused_guests_forget(agent->refused, arrival);
	if (status != HANDSHAKE_REFUSED_FULL || !refused_guests_wants(agent->refused, arrival))
		return;
	/* Now, while /proc has its name and its rank. */
	description = process_description_create(0, arrival->pid, arrival->hello, agent->strings,
						 &agent->devices);
	refused_guests_add(agent->refused, arrival, proc_file_start_ticks(arrival->pid),
			   ABSENCE_FULL, description);
}

/* A process that lives asks again within seconds. One that is not visible is told of now; should it ask, it is
 * recorded all the same. */
static void on_left(void *context, const struct guest_register_entry *entry)
{
	struct agent *agent = context;
	bool lives = entry->pid > 0 && proc_file_is_alive(entry->pid, entry->start_ticks);

	if (!lives && count_alone(agent, entry->uid, &entry->hello, ABSENCE_GONE))
		return;
	const struct guest_arrival arrival = {
		.pid = entry->pid, .uid = entry->uid, .hello = &entry->hello};
	struct process_description *description = process_description_create(
		0, lives ? entry->pid : 0, &entry->hello, agent->strings, &agent->devices);

	if (!lives && description)
		process_description_set_identity(description, entry->pid, entry->start_ticks);
	if (!lives && description && *entry->command)
		process_description_set_command(description, entry->command);
	if (lives && refused_guests_wants(agent->refused, &arrival)) {
		refused_guests_add(agent->refused, &arrival, entry->start_ticks, ABSENCE_GONE,
				   description);
		return;
	}
	tell_guest(agent, entry->uid, &entry->hello, description, ABSENCE_GONE);
}

/* The process that an offer is of. A user's word on another user's process is not believed. */
static pid_t find_process(uid_t uid, const struct guest_hello *hello)
{
	pid_t pid = (pid_t)hello->pid;
	uid_t real, effective;

	if (pid <= 0 || hello->pid_namespace == 0 || hello->start_ticks == 0 ||
	    hello->pid_namespace != proc_file_pid_namespace(getpid()) ||
	    proc_file_users(pid, &real, &effective) || (real != uid && effective != uid) ||
	    proc_file_start_ticks(pid) != hello->start_ticks)
		return 0;
	return pid;
}

/* The register keeps it from here on: nobody else knows of it once its file is gone. While there is no place the file
 * stays, and nobody is told. An agent that ends tells all the same, but leaves a process that lives to the next one. */
static bool on_offer(void *context, uid_t uid, const struct guest_hello *hello)
{
	struct agent *agent = context;
	struct guest_register_entry entry = {
		.uid = uid,
		.pid = find_process(uid, hello),
		.start_ticks = hello->start_ticks,
		.hello = *hello,
	};

	if (agent->phase >= PHASE_DRAINING && entry.pid > 0) {
		agent->leaves_guests = true;
		return false;
	}
	int r = guest_register_add(agent->scope.reg, entry.pid, uid, hello);
	if (r == -ENOSPC && agent->phase < PHASE_DRAINING) {
		agent->offer_waits = true;
		return false;
	}
	if (r != -EEXIST)
		on_left(agent, &entry);
	return true;
}

void agent_absence_inherit(struct agent *agent)
{
	guest_register_each(agent->scope.reg, on_left, agent);
}

/* Returns when to look at more. */
static uint64_t read_offers(struct agent *agent, uint64_t now_ns)
{
	if (now_ns < agent->offers_ns)
		return agent->offers_ns;
	if (guest_offers_read(agent->offers, AGENT_ABSENCE_OFFERS, on_offer, agent)) {
		agent->offers_ns = now_ns + AGENT_ABSENCE_OFFERS_NS;
		return agent->offers_ns;
	}
	agent->offers_ns = agent->offer_waits ? now_ns + AGENT_ABSENCE_PLACE_NS : UINT64_MAX;
	agent->offer_waits = false;
	return agent->offers_ns;
}

uint64_t agent_absence_step(struct agent *agent, uint64_t now_ns)
{
	if (now_ns >= agent->absent_ns) {
		agent->absent_ns = now_ns + AGENT_ABSENCE_PERIOD_NS;
		fair_shares_forget(&agent->absences);
		tell_left_out(agent);
	}
	uint64_t next_ns = refused_guests_step(agent->refused, now_ns, on_end, agent);
	uint64_t offers_ns = read_offers(agent, now_ns);

	if (offers_ns < next_ns)
		next_ns = offers_ns;
	bool waits = agent->left_out || agent->nr_nameless;
	return waits && agent->absent_ns < next_ns ? agent->absent_ns : next_ns;
}

void agent_absence_end(struct agent *agent)
{
	if (agent->predecessors && refused_guests_look(agent->refused, on_end, agent) > 0)
		agent->leaves_guests = true;
	else
		refused_guests_end_all(agent->refused, on_end, agent);
	/* After those that were refused, whose files have gone with that. */
	guest_offers_end(agent->offers);
	if (guest_offers_read(agent->offers, AGENT_ABSENCE_OFFERS_END, on_offer, agent))
		agent->leaves_guests = true; /* perhaps: a user has made too many files */
	tell_left_out(agent);
	if (agent->nr_nameless)
		log_warning("%" PRIu64
			    " processes could not be recorded, and are in no profile: no memory",
			    agent->nr_nameless);
}

void agent_absence_fini(struct agent *agent)
{
	fair_shares_forget(&agent->absences);
	while (agent->left_out) {
		struct left_out *left_out = agent->left_out;

		agent->left_out = left_out->next;
		process_description_destroy(left_out->first);
		free(left_out);
	}
}
