#include "profile_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ack_sender.h"
#include "job_table.h"
#include "node_profiles.h"
#include "profile_turn.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/log.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/message_seq.h"

#define LOOK_NS       1000000000u
#define DROPPED_NS    60000000000u /* from one line about dropped frames to the next */
#define REFUSALS_SAID 10u          /* limit of lines on stderr; all refusals are counted */

void profile_set_fini(struct profile_set *set)
{
	frame_queue_clear(&set->own.frames, &set->budget);
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

/* ---- what came of a frame */

static void handle_gap(struct profile_set *set, struct peer *peer, uint64_t seq,
		       uint64_t awaited_seq)
{
	char reason[96];

	if (peer->gap_reported)
		return;
	snprintf(reason, sizeof(reason), "%llu came, %llu is next", (unsigned long long)seq,
		 (unsigned long long)awaited_seq);
	log_debug("messages of an agent are missing: %s", reason);
	ack_sender_one(set->receiver, peer);
	if (receiver_refuse(set->receiver, peer, REFUSE_SEQUENCE, reason) == 0)
		peer->gap_reported = true;
}

static void refuse_message(struct profile_set *set, const struct peer *peer,
			   const struct held_frame *frame)
{
	if (set->refused_messages++ < REFUSALS_SAID)
		log_warning("an agent's message %llu was refused: %s",
			    (unsigned long long)frame->seq, frame->reason);
	receiver_refuse(set->receiver, peer, (enum refuse_code)frame->code, frame->reason);
}

/* The peer may have gone since, or may be another session's. */
static void answer_frame(struct profile_set *set, const struct held_frame *frame)
{
	struct peer *peer =
		peer_table_of(receiver_peers(set->receiver), frame->sender, frame->serial);
	const bool is_of = peer && peer->session && peer->session == frame->session;

	if (frame->outcome == FRAME_UNKNOWN)
		receiver_count_unknown(set->receiver);
	else if (peer && frame->outcome == FRAME_BAD)
		receiver_count_bad(set->receiver, peer, frame->fault);
	else if (peer && frame->outcome == FRAME_NO_SESSION)
		receiver_refuse(set->receiver, peer, REFUSE_NO_HELLO, "say HELLO first");
	else if (is_of && frame->outcome == FRAME_APPLIED)
		peer->gap_reported = false;
	else if (is_of && frame->outcome == FRAME_REPEATED)
		peer->ack_due = true;
	else if (is_of && frame->outcome == FRAME_AFTER_GAP)
		handle_gap(set, peer, frame->seq, frame->awaited_seq);
	else if (is_of && frame->outcome == FRAME_REFUSED)
		refuse_message(set, peer, frame);
	if (frame->over)
		ack_sender_end_epoch(set->receiver, frame->over);
}

static void answer_frames(struct profile_set *set, struct held_frame *frame)
{
	while (frame) {
		struct held_frame *next = frame->next;

		answer_frame(set, frame);
		if (frame->release) /* else it was not in a queue */
			frame_budget_end(&set->budget, frame);
		frame = next;
	}
}

/* ---- what came of a commit */

/* A deleted store loses all writes, so no message is acknowledged any more. */
static void give_up(struct profile_set *set, struct open_profile *profile)
{
	ack_sender_refuse(set->receiver, profile, REFUSE_STORE, "the profile was deleted or moved");
	if (profile != &set->own) {
		frame_queue_clear(&profile->frames, &set->budget);
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

static void note_commit(struct profile_set *set, struct open_profile *profile)
{
	const struct profile_turn *turn = &profile->turn;

	set->commit_error = turn->commit_error;
	if (turn->commit_error == -ESTALE) {
		give_up(set, profile);
	} else if (turn->commit_error) {
		if (!turn->had_failed)
			say_unwritable(profile, turn->commit_error);
		ack_sender_refuse(set->receiver, profile, REFUSE_STORE,
				  "the aggregator cannot write its profile");
	} else {
		if (turn->had_failed)
			log_notice("the profile can be written again");
		set->commits++;
		set->stored_launches = set->launches;
		set->stored_records = set->records;
	}
}

/* ---- turns */

/* The profile is here again. */
static void end_turn(struct worker_task *task)
{
	struct profile_turn *turn = (struct profile_turn *)task;
	struct open_profile *profile = turn->profile;
	struct profile_set *set = turn->owner;
	struct held_frame *frames = turn->frames;

	profile->away = false;
	profile->rests = store_rests(profile->store);
	set->launches += turn->launches;
	set->records += turn->records;
	set->error = turn->error ? turn->error : set->error;
	turn->frames = NULL;
	answer_frames(set, frames);
	profile->saved =
		!frames && (turn->saves ? turn->save_error == 0 || turn->is_gone : profile->saved);
	if (turn->committed && !turn->error)
		note_commit(set, profile);
}

/* The turn is filled in but for what this function adds. */
static void give(struct profile_set *set, struct open_profile *profile,
		 const struct profile_turn *turn)
{
	profile->turn = *turn;
	profile->turn.task = (struct worker_task){.run = profile_turn_run, .done = end_turn};
	profile->turn.profile = profile;
	profile->turn.owner = set;
	profile->turn.commit_interval_ms = set->commit_interval_ms;
	profile->away = true;
	worker_pool_give(set->workers, &profile->turn.task);
}

void profile_set_step(struct profile_set *set)
{
	worker_pool_step(set->workers);
}

/* Returns whether the profile's store, or a new one, may be open now. Else the one that was not written for longest is
 * told to rest. */
static bool has_room(struct profile_set *set, const struct open_profile *profile)
{
	struct open_profile *oldest;

	if (profile == &set->own || !profile->rests || !job_table_is_full(set->jobs, &oldest))
		return true;
	if (!oldest)
		return false;
	give(set, oldest, &(struct profile_turn){.rests = true});
	if (!worker_pool_is_inline(set->workers))
		return false;
	profile_set_step(set);
	return true;
}

void profile_set_open_jobs(struct profile_set *set)
{
	struct open_profile *profile;

	while (set->jobs && (profile = job_table_waiting(set->jobs)) != NULL &&
	       has_room(set, profile))
		job_table_open(set->jobs, profile);
	if (worker_pool_is_inline(set->workers))
		profile_set_step(set);
}

/* ---- frames */

static void say_dropped(struct profile_set *set, const struct open_profile *profile)
{
	const uint64_t now_ns = clock_now_ns();

	if (set->dropped_said_ns && now_ns - set->dropped_said_ns < DROPPED_NS)
		return;
	set->dropped_said_ns = now_ns;
	log_warning("%s is behind with what its agents send: there is no room for more, and they "
		    "send it again (%llu messages so far, of all profiles)",
		    profile->said_place    ? profile->said_place
		    : profile == &set->own ? profile->place
					   : "a job that begins",
		    (unsigned long long)set->budget.dropped);
}

/* Either refusal makes the agent connect again later, and then it sends what is not stored. Other messages come again
 * without one. */
static void refuse_dropped(struct profile_set *set, struct peer *peer, enum message_type type)
{
	static const char reason[] = "there is no room for this message";

	if (type == MESSAGE_HELLO)
		receiver_refuse(set->receiver, peer, REFUSE_LIMIT, reason);
	else if (message_seq_has(type) && !peer->gap_reported &&
		 receiver_refuse(set->receiver, peer, REFUSE_SEQUENCE, reason) == 0)
		peer->gap_reported = true;
}

static int hold(struct profile_set *set, struct open_profile *profile, struct peer *peer)
{
	struct held_frame *frame = receiver_hold(set->receiver, peer);

	if (!frame)
		return -ENOMEM;
	const enum message_type type = batch_frame_type(frame->bytes, frame->size);
	if (!frame_queue_push(&profile->frames, &set->budget, frame)) {
		say_dropped(set, profile);
		refuse_dropped(set, peer, type);
	}
	return 0;
}

/* The peer may have gone, or may be in another profile by now. */
static void find_session(struct profile_set *set, const struct open_profile *profile,
			 struct held_frame *frame)
{
	const struct peer *peer =
		peer_table_of(receiver_peers(set->receiver), frame->sender, frame->serial);

	frame->session = peer && profile_set_of(set, peer) == profile ? peer->session : NULL;
}

int profile_set_take(struct profile_set *set, struct open_profile *profile, struct peer *peer)
{
	struct held_frame frame;

	receiver_frame(set->receiver, peer, &frame);
	if (!frame.has_data || !worker_pool_is_inline(set->workers) || profile->frames.first)
		return hold(set, profile, peer);
	find_session(set, profile, &frame);
	give(set, profile, &(struct profile_turn){.frames = &frame});
	profile_set_step(set);
	return set->error;
}

/* Takes frames of data from the head of the queue, as many as a turn may have. */
static struct held_frame *take_data(struct profile_set *set, struct open_profile *profile)
{
	struct held_frame *first = NULL, **at = &first;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < PROFILE_TURN_FRAMES && bytes < PROFILE_TURN_BYTES; i++) {
		if (!profile->frames.first || !profile->frames.first->has_data)
			break;
		*at = frame_queue_lend(&profile->frames, &set->budget);
		find_session(set, profile, *at);
		bytes += (*at)->size;
		at = &(*at)->next;
	}
	return first;
}

void profile_set_give_frames(struct profile_set *set, struct open_profile *profile)
{
	if (profile->away || !profile->frames.first || !profile->frames.first->has_data ||
	    !has_room(set, profile))
		return;
	give(set, profile,
	     &(struct profile_turn){.frames = take_data(set, profile), .commits = true});
}

void profile_set_commit_first(struct profile_set *set, struct open_profile *profile,
			      struct held_frame *frame)
{
	frame->was_tried = true;
	frame_queue_return(&profile->frames, &set->budget, frame);
	give(set, profile, &(struct profile_turn){.forced = true});
}

/* ---- what is due */

static bool is_due(const struct open_profile *profile, uint64_t now_ns)
{
	return profile->save_wanted || open_profile_is_due(profile, now_ns) ||
	       metrics_board_wants(&profile->metrics, now_ns) ||
	       (profile->nodes && node_profiles_until(profile->nodes, UINT64_MAX) <= now_ns);
}

void profile_set_give_due(struct profile_set *set, uint64_t now_ns)
{
	for (uint32_t i = profile_set_count(set); i-- > 0;) {
		struct open_profile *profile = profile_set_at(set, i);

		if (profile->away || !is_due(profile, now_ns) || !has_room(set, profile))
			continue;
		const struct profile_turn turn = {.commits = true, .saves = profile->save_wanted};
		profile->save_wanted = false;
		give(set, profile, &turn);
	}
}

uint64_t profile_set_until(struct profile_set *set, uint64_t until_ns)
{
	struct open_profile *oldest;
	const bool is_full = set->jobs && job_table_is_full(set->jobs, &oldest);

	for (uint32_t i = 0; i < profile_set_count(set); i++) {
		const struct open_profile *profile = profile_set_at(set, i);

		if (profile->away || (profile->rests && is_full))
			continue; /* the end of a turn wakes us */
		until_ns = commit_schedule_until(&profile->schedule, until_ns);
		if (profile->nodes)
			until_ns = node_profiles_until(profile->nodes, until_ns);
	}
	return until_ns;
}

/* ---- metrics */

static void count_profile(const struct open_profile *profile, struct aggregator_counts *counts)
{
	const struct held_frame *frame = profile->frames.first;

	counts->links += profile->seen.links;
	counts->agents_connected += profile->seen.heard;
	counts->agents_silent += profile->seen.open - profile->seen.heard;
	if (frame && (!counts->oldest_ns || frame->heard_ns < counts->oldest_ns))
		counts->oldest_ns = frame->heard_ns;
}

void profile_set_publish(struct profile_set *set, uint64_t now_ns)
{
	struct metrics_board *board = set->own.metrics.board;
	const struct receiver_counts *receiver = receiver_counts(set->receiver);
	struct aggregator_counts counts = {
		.profiles = profile_set_count(set),
		.commits = set->commits,
		.frames = receiver->frames,
		.bytes = receiver->bytes,
		.bad_frames = receiver->bad_frames,
		.refused = receiver->refused,
		.strangers = receiver->strangers,
		.crowded = receiver->crowded,
		.dropped = set->budget.dropped,
		.waiting_bytes = set->budget.bytes,
	};

	if (!metrics_board_is_due(board, now_ns))
		return;
	for (uint32_t i = 0; i < profile_set_count(set); i++)
		count_profile(profile_set_at(set, i), &counts);
	metrics_board_publish(board, &counts, now_ns);
}

/* ---- the end */

/* Gives each profile one turn of this kind, and waits for all. Returns the last error of it. */
static int give_all(struct profile_set *set, const struct profile_turn *turn)
{
	uint64_t given = 0, all;
	int result = 0;

	for (uint32_t i = 0; i < profile_set_count(set); i++)
		profile_set_at(set, i)->end_given = i == 0 && set->own_is_gone;
	do {
		all = given = 0;
		for (uint32_t i = profile_set_count(set); i-- > 0;) {
			struct open_profile *profile = profile_set_at(set, i);

			all += !profile->end_given;
			if (profile->away || profile->end_given || !has_room(set, profile))
				continue;
			profile->end_given = true;
			given++;
			give(set, profile, turn);
		}
	} while (worker_pool_wait(set->workers) || (all && given));
	for (uint32_t i = 0; i < profile_set_count(set); i++) {
		const struct open_profile *profile = profile_set_at(set, i);
		const struct profile_turn *ended = &profile->turn;

		if (profile->end_given && (ended->commit_error || ended->save_error))
			result = ended->commit_error ? ended->commit_error : ended->save_error;
	}
	return result;
}

int profile_set_end(struct profile_set *set, bool keeps)
{
	int result = keeps ? give_all(set, &(struct profile_turn){.wholly = true}) : 0;
	if (set->own.store && set->commit_error == -ENOSPC)
		store_note_full(set->own.store, set->launches - set->stored_launches,
				set->records - set->stored_records);
	int saved = set->error ? 0 : give_all(set, &(struct profile_turn){.saves = true});

	return set->error ? set->error : result ? result : saved;
}

int profile_set_look(struct profile_set *set, uint64_t now_ns, bool at_once)
{
	if (!set->own_is_gone && !set->own.away &&
	    (at_once || now_ns - set->looked_ns >= LOOK_NS)) {
		set->looked_ns = now_ns;
		if (store_has_moved(set->own.store))
			give_up(set, &set->own);
	}
	return set->own_is_gone ? -ESTALE : 0;
}
