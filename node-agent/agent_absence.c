#include "agent_absence.h"

#include <string.h>

#include "agent_loop.h"
#include "batch_builder.h"
#include "guest_listener.h"
#include "guest_register.h"
#include "proc_file.h"
#include "process_description.h"
#include "proto/absence.h"
#include "publisher.h"
#include "refused_guests.h"
#include "run_table.h"

#define ABSENT_MAX 1024u /* processes that are told of */

/* Without memory for it, the profile lacks it. */
static void tell(struct agent *agent, struct process_description *description, const char *why,
		 enum process_state state)
{
	struct message message;

	if (agent->nr_absent >= ABSENT_MAX || agent->nr_processes == WIRE_ID_MAX ||
	    process_description_add_notice(description, why, strlen(why)) != 1)
		return;
	process_description_set_state(description, state);
	process_description_message(description, &message);
	if (batch_builder_flush_dictionaries(agent->builder))
		return;
	agent->nr_absent++;
	message.process.process_id = ++agent->nr_processes;
	publisher_send(agent->publisher, &message);
}

void agent_absence_heard(void *context, pid_t pid, uid_t uid, const struct guest_absence *absence)
{
	struct agent *agent = context;
	struct process_description *description;
	struct guest_hello hello = {
		.pid = absence->pid,
		.run = absence->run,
		.start_ticks = absence->start_ticks,
		.pid_namespace = absence->pid_namespace,
	};
	char text[ABSENCE_SIZE];
	const char *why = absence_text(absence, text, sizeof(text));

	memcpy(hello.instance, absence->instance, sizeof(hello.instance));
	description = process_description_create(0, pid, &hello, agent->strings, &agent->devices);
	if (description)
		tell(agent, description, why, PROCESS_ENDED);
	process_description_destroy(description);
	run_table_absent(agent->runs, hello.run, uid, why, publisher_last_seq(agent->publisher));
}

static void on_end(void *context, const struct refused_guest *guest)
{
	struct agent *agent = context;

	tell(agent, guest->description, guest->why,
	     strcmp(guest->why, ABSENCE_GONE) == 0 ? PROCESS_UNCLEAN : PROCESS_ENDED);
	guest_register_told(agent->scope.reg, guest->uid, guest->instance,
			    publisher_last_seq(agent->publisher));
	run_table_absent(agent->runs, guest->run, guest->uid, guest->why,
			 publisher_last_seq(agent->publisher));
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
	if (description)
		refused_guests_add(agent->refused, arrival, proc_file_start_ticks(arrival->pid),
				   ABSENCE_FULL, description);
}

/* A process that lives asks again within seconds. One that is not visible is told of now; should it ask, it is
 * recorded all the same. */
static void on_left(void *context, const struct guest_register_entry *entry)
{
	struct agent *agent = context;
	bool lives = entry->pid > 0 && proc_file_is_alive(entry->pid, entry->start_ticks);
	const struct guest_arrival arrival = {
		.pid = entry->pid, .uid = entry->uid, .hello = &entry->hello};
	struct process_description *description = process_description_create(
		0, lives ? entry->pid : 0, &entry->hello, agent->strings, &agent->devices);

	if (!description)
		return;
	if (!lives)
		process_description_set_command(description, entry->command);
	if (lives && refused_guests_wants(agent->refused, &arrival)) {
		refused_guests_add(agent->refused, &arrival, entry->start_ticks, ABSENCE_GONE,
				   description);
		return;
	}
	struct refused_guest gone = {
		.run = entry->hello.run,
		.uid = entry->uid,
		.why = ABSENCE_GONE,
		.description = description,
	};
	memcpy(gone.instance, entry->hello.instance, sizeof(gone.instance));
	on_end(agent, &gone);
	process_description_destroy(description);
}

void agent_absence_inherit(struct agent *agent)
{
	guest_register_each(agent->scope.reg, on_left, agent);
}

uint64_t agent_absence_step(struct agent *agent, uint64_t now_ns)
{
	return refused_guests_step(agent->refused, now_ns, on_end, agent);
}

void agent_absence_end(struct agent *agent)
{
	if (agent->predecessors && refused_guests_look(agent->refused, on_end, agent) > 0)
		agent->leaves_guests = true;
	else
		refused_guests_end_all(agent->refused, on_end, agent);
}
