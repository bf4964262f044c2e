#include "profile_set.h"

#include <errno.h>
#include <string.h>

#include "ack_sender.h"
#include "job_table.h"
#include "node_profiles.h"

#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/log.h"

#define LOOK_NS 1000000000u

void profile_set_fini(struct profile_set *set)
{
	job_table_destroy(set->jobs);
	open_profile_close(&set->own);
}

struct open_profile *profile_set_of(struct profile_set *set, const struct peer *peer)
{
	return peer->profile ? peer->profile : &set->own;
}

uint32_t profile_set_count(const struct profile_set *set)
{
	return 1 + (set->jobs ? job_table_count(set->jobs) : 0);
}

struct open_profile *profile_set_at(struct profile_set *set, uint32_t i)
{
	return i ? job_table_profile(set->jobs, i - 1) : &set->own;
}

/* A deleted store loses all writes, so no message is acknowledged any more. */
static void give_up(struct profile_set *set, struct open_profile *profile)
{
	ack_sender_refuse(set->receiver, profile, REFUSE_STORE, "the profile was deleted or moved");
	if (profile != &set->own) {
		job_table_drop(set->jobs, profile);
		return;
	}
	if (!set->own_is_gone)
		log_error("the profile was deleted or moved while it was written: what came by "
			  "now is lost with it, and no more is taken");
	set->own_is_gone = true;
}

static void say_unwritable(const struct open_profile *profile, int error)
{
	const bool is_bounded = error == -ENOSPC && store_is_bounded(profile->store);

	log_error("cannot write the profile: %s (%s%s); nothing that was acknowledged is lost, and "
		  "we keep trying",
		  strerror(-error), store_error(profile->store),
		  is_bounded ? ", or the profile has the size that --max-size allows" : "");
}

int profile_set_commit(struct profile_set *set, struct open_profile *profile, uint64_t now_ns)
{
	bool had_failed = profile->schedule.failed;

	if (profile != &set->own)
		job_table_make_room(set->jobs, profile);
	uint64_t began_ns = clock_now_ns();
	int error = open_profile_commit(profile, now_ns);
	uint64_t ended_ns = clock_now_ns();

	if (error == -ENOMEM)
		return error;
	if (error == -ESTALE) {
		give_up(set, profile);
		return error;
	}
	if (error) {
		if (!had_failed)
			say_unwritable(profile, error);
		ack_sender_refuse(set->receiver, profile, REFUSE_STORE,
				  "the aggregator cannot write its profile");
		return error;
	}
	if (had_failed)
		log_notice("the profile can be written again");
	set->commits++;
	open_profile_note_commit(profile, ended_ns - began_ns, ended_ns);
	ack_sender_all(set->receiver);
	return 0;
}

/* The order is from last to first: a closed job leaves its place to the last one, which had its turn. */
static int commit_those(struct profile_set *set, uint64_t now_ns, bool all)
{
	int result = 0;

	for (uint32_t i = profile_set_count(set); i-- > 0 && result != -ENOMEM;) {
		struct open_profile *profile = profile_set_at(set, i);

		if (all ? commit_schedule_is_clean(&profile->schedule)
			: !open_profile_is_due(profile, now_ns))
			continue;
		profile->schedule.whole |= all;
		int error = profile_set_commit(set, profile, now_ns);
		if (error && (error != -ESTALE || profile == &set->own))
			result = error;
	}
	return result;
}

int profile_set_commit_due(struct profile_set *set, uint64_t now_ns)
{
	return commit_those(set, now_ns, false);
}

int profile_set_commit_all(struct profile_set *set, uint64_t now_ns)
{
	return commit_those(set, now_ns, true);
}

void profile_set_save_nodes_due(struct profile_set *set, uint64_t now_ns)
{
	for (uint32_t i = 0; i < profile_set_count(set); i++)
		if (profile_set_at(set, i)->nodes)
			node_profiles_step(profile_set_at(set, i)->nodes, now_ns);
}

int profile_set_save_nodes(struct profile_set *set)
{
	int result = 0;

	for (uint32_t i = set->own_is_gone; i < profile_set_count(set); i++) {
		int error = open_profile_save_nodes(profile_set_at(set, i));

		result = error ? error : result;
	}
	return result;
}

int profile_set_look(struct profile_set *set, uint64_t now_ns, bool at_once)
{
	if (!set->own_is_gone && (at_once || now_ns - set->looked_ns >= LOOK_NS)) {
		set->looked_ns = now_ns;
		if (store_has_moved(set->own.store))
			give_up(set, &set->own);
	}
	return set->own_is_gone ? -ESTALE : 0;
}
