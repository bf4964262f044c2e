#include "agent_unrecorded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_state.h"

#include "base/log.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_description.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "proto/absence.h"

/* A user's processes that wait for the period's end. */
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

/* Returns NULL if no process of the user waits. */
static struct left_out *find_left_out(const struct agent *agent, uid_t uid)
{
	struct left_out *left_out = agent->unrecorded.left_out;

	while (left_out && left_out->uid != uid)
		left_out = left_out->next;
	return left_out;
}

static bool may_name(struct agent *agent, uid_t uid)
{
	return fair_shares_may_take(&agent->unrecorded.named, uid,
				    AGENT_UNRECORDED_MAX - agent->unrecorded.named.total);
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
		agent->unrecorded.nr_nameless++;
		process_description_destroy(description);
		return;
	}
	*left_out = (struct left_out){agent->unrecorded.left_out, uid, 1, description, state};
	agent->unrecorded.left_out = left_out;
}

bool agent_unrecorded_tell(struct agent *agent, uid_t uid, struct process_description *description,
			   const char *why, enum process_state state)
{
	if (!description) {
		agent->unrecorded.nr_nameless++;
		return false;
	}
	if (!may_name(agent, uid) || publish(agent, uid, description, why, state)) {
		leave_out(agent, uid, description, state);
		return false;
	}
	fair_shares_take(&agent->unrecorded.named, uid);
	process_description_destroy(description);
	return true;
}

bool agent_unrecorded_count(struct agent *agent, uid_t uid)
{
	struct left_out *left_out = find_left_out(agent, uid);

	if (!left_out || may_name(agent, uid))
		return false;
	left_out->count++;
	return true;
}

/* Writes one entry for all processes without a name, and tries again until it can be written. No user's entry waits
 * any more, so the register's guests that a later message should count are among these processes. */
static void tell_nameless(struct agent *agent)
{
	const struct guest_hello nobody = {0};
	struct process_description *description;
	char why[ABSENCE_SIZE];

	if (agent->unrecorded.nr_nameless == 0)
		return;
	description = process_description_create(0, 0, &nobody, agent->strings, &agent->devices);
	snprintf(why, sizeof(why),
		 ABSENCE_FAILED "%" PRIu64 " processes, which are not named: the agent of this "
				"node had no memory to describe them, or no process id for them",
		 agent->unrecorded.nr_nameless);
	if (description && publish(agent, geteuid(), description, why, PROCESS_ENDED) == 0) {
		agent->unrecorded.nr_nameless = 0;
		guest_register_counted(agent->scope.reg, GUEST_REGISTER_ALL,
				       publisher_last_seq(agent->publisher));
	}
	process_description_destroy(description);
}

/* Writes one entry for each user. */
static void tell_left_out(struct agent *agent)
{
	while (agent->unrecorded.left_out) {
		struct left_out *left_out = agent->unrecorded.left_out;
		char why[ABSENCE_SIZE];

		snprintf(why, sizeof(why),
			 ABSENCE_FAILED "this process and %llu others of its user, "
					"which are not named: too many could not be recorded",
			 (unsigned long long)left_out->count - 1);
		if (publish(agent, left_out->uid, left_out->first, why, left_out->state) == 0)
			guest_register_counted(agent->scope.reg, left_out->uid,
					       publisher_last_seq(agent->publisher));
		else
			agent->unrecorded.nr_nameless += left_out->count;
		agent->unrecorded.left_out = left_out->next;
		process_description_destroy(left_out->first);
		free(left_out);
	}
	tell_nameless(agent);
}

void agent_unrecorded_step(struct agent *agent, uint64_t now_ns)
{
	if (now_ns < agent->unrecorded.period_end_ns)
		return;
	agent->unrecorded.period_end_ns = now_ns + AGENT_UNRECORDED_PERIOD_NS;
	fair_shares_forget(&agent->unrecorded.named);
	tell_left_out(agent);
}

uint64_t agent_unrecorded_deadline_ns(const struct agent_unrecorded *unrecorded)
{
	bool waits = unrecorded->left_out || unrecorded->nr_nameless;

	return waits ? unrecorded->period_end_ns : UINT64_MAX;
}

void agent_unrecorded_end(struct agent *agent)
{
	tell_left_out(agent);
	if (agent->unrecorded.nr_nameless)
		log_warning("%" PRIu64
			    " processes could not be recorded, and are in no profile: no memory",
			    agent->unrecorded.nr_nameless);
}

void agent_unrecorded_fini(struct agent_unrecorded *unrecorded)
{
	fair_shares_forget(&unrecorded->named);
	while (unrecorded->left_out) {
		struct left_out *left_out = unrecorded->left_out;

		unrecorded->left_out = left_out->next;
		process_description_destroy(left_out->first);
		free(left_out);
	}
}
