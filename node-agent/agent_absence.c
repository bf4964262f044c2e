#include "agent_absence.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent_state.h"
#include "agent_unrecorded.h"
#include "run_table.h"

#include "node-agent/files/proc_file.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_offers.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_description.h"
#include "node-agent/guests/refused_guests.h"
#include "node-agent/publish/publisher.h"
#include "proto/absence.h"

void agent_absence_settled(void *context, uid_t uid, const struct guest_hello *hello)
{
	struct agent *agent = context;

	guest_offers_settle(agent->absence.offers, uid, hello);
}

/* A guest that is not recorded is told of in the message `seq`, or is counted (GUEST_REGISTER_LATER). Its offer goes
 * once the register keeps it: if we are killed before that message is stored, the next agent tells of it. */
static void told(struct agent *agent, uid_t uid, const struct guest_hello *hello, uint64_t seq)
{
	/* The process may have ended, and its pid may be another's. */
	(void)guest_register_add(agent->scope.reg, 0, uid, hello);
	guest_register_told(agent->scope.reg, uid, hello->instance, seq);
	guest_offers_settle(agent->absence.offers, uid, hello);
}

/* Counts a guest without describing it, if its user has no entry left. Returns whether. */
static bool count_alone(struct agent *agent, uid_t uid, const struct guest_hello *hello,
			const char *why)
{
	if (!agent_unrecorded_count(agent, uid))
		return false;
	told(agent, uid, hello, GUEST_REGISTER_LATER);
	run_table_absent(agent->runs, hello->run, uid, why, publisher_last_seq(agent->publisher));
	return true;
}

/* Takes the description; NULL: there was no memory for it. */
static void tell_guest(struct agent *agent, uid_t uid, const struct guest_hello *hello,
		       struct process_description *description, const char *why)
{
	bool is_gone = strcmp(why, ABSENCE_GONE) == 0;
	bool is_named = agent_unrecorded_tell(agent, uid, description, why,
					      is_gone ? PROCESS_UNCLEAN : PROCESS_ENDED);

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
	if (!refused_guests_forget(agent->absence.refused, &arrival) && is_kept) {
		/* An agent before us has heard it, and we have told of it already. */
		guest_offers_settle(agent->absence.offers, uid, &hello);
		return;
	}
	if (!count_alone(agent, uid, &hello, why))
		tell_guest(
			agent, uid, &hello,
			process_description_create(0, pid, &hello, agent->strings, &agent->devices),
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
		refused_guests_forget(agent->absence.refused, arrival);
	if (status != HANDSHAKE_REFUSED_FULL ||
	    !refused_guests_wants(agent->absence.refused, arrival))
		return;
	/* Now, while /proc has its name and its rank. */
	description = process_description_create(0, arrival->pid, arrival->hello, agent->strings,
						 &agent->devices);
	refused_guests_add(agent->absence.refused, arrival, proc_file_start_ticks(arrival->pid),
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
	if (lives && refused_guests_wants(agent->absence.refused, &arrival)) {
		refused_guests_add(agent->absence.refused, &arrival, entry->start_ticks,
				   ABSENCE_GONE, description);
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

	if (agent->end.phase >= PHASE_DRAINING && entry.pid > 0) {
		agent->end.leaves_guests = true;
		return false;
	}
	int r = guest_register_add(agent->scope.reg, entry.pid, uid, hello);
	if (r == -ENOSPC && agent->end.phase < PHASE_DRAINING) {
		agent->absence.offer_waits = true;
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

/* Returns when to read more. */
static uint64_t read_offers(struct agent *agent, uint64_t now_ns)
{
	struct agent_absence *absence = &agent->absence;

	if (now_ns < absence->offers_ns)
		return absence->offers_ns;
	if (guest_offers_read(absence->offers, AGENT_ABSENCE_OFFERS, on_offer, agent)) {
		absence->offers_ns = now_ns + AGENT_ABSENCE_OFFERS_NS;
		return absence->offers_ns;
	}
	absence->offers_ns = absence->offer_waits ? now_ns + AGENT_ABSENCE_PLACE_NS : UINT64_MAX;
	absence->offer_waits = false;
	return absence->offers_ns;
}

uint64_t agent_absence_step(struct agent *agent, uint64_t now_ns)
{
	agent_unrecorded_step(agent, now_ns);
	uint64_t refused_ns = refused_guests_step(agent->absence.refused, now_ns, on_end, agent);
	uint64_t offers_ns = read_offers(agent, now_ns);
	uint64_t rest_ns = agent_unrecorded_deadline_ns(&agent->unrecorded);
	uint64_t next_ns = refused_ns < offers_ns ? refused_ns : offers_ns;

	return next_ns < rest_ns ? next_ns : rest_ns;
}

void agent_absence_end(struct agent *agent)
{
	if (agent->predecessors && refused_guests_look(agent->absence.refused, on_end, agent) > 0)
		agent->end.leaves_guests = true;
	else
		refused_guests_end_all(agent->absence.refused, on_end, agent);
	/* After those that were refused, whose files have gone with that. */
	guest_offers_end(agent->absence.offers);
	if (guest_offers_read(agent->absence.offers, AGENT_ABSENCE_OFFERS_END, on_offer, agent))
		agent->end.leaves_guests = true; /* perhaps: a user has made too many files */
	agent_unrecorded_end(agent);
}

int agent_absence_init(struct agent_absence *absence)
{
	absence->refused = refused_guests_create();
	return absence->refused ? 0 : -ENOMEM;
}

void agent_absence_fini(struct agent_absence *absence)
{
	guest_offers_close(absence->offers);
	refused_guests_destroy(absence->refused);
}
