#include "profile_turn.h"

#include <errno.h>
#include <stdio.h>

#include "node_profiles.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/message_log.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/message_seq.h"

/* ---- frames */

/* Returns 0; -ENOMEM; an enum refuse_code. */
static int apply_link(struct open_profile *profile, struct held_frame *frame,
		      const struct message *message)
{
	if (message->type == MESSAGE_PAGES &&
	    !page_share_take(&profile->pages, message->pages.nr_bytes)) {
		frame->reason = "no memory is left for profiles that nodes fold";
		return REFUSE_LIMIT;
	}
	int status = node_profiles_apply(profile->nodes, frame->session, message, frame->heard_ns,
					 &frame->reason, &frame->over);

	page_share_set(&profile->pages, node_profiles_bytes(profile->nodes));
	profile->metrics.changed = true;
	return status;
}

/* As apply_link(), for an agent's message. */
static int apply_agent(struct profile_turn *turn, struct held_frame *frame,
		       const struct message *message)
{
	struct open_profile *profile = turn->profile;
	struct agent_session *session = frame->session;
	int status = session_apply(session, profile->collection, message, &frame->reason);

	if (status)
		return status;
	/* Else a disk that is full for long would fill our memory: only a whole commit can follow. */
	if (commit_schedule_takes_messages(&profile->schedule) &&
	    message_log_add(profile->collection->messages, session, frame->bytes, frame->size))
		return -ENOMEM;
	profile->schedule.changed = profile->metrics.changed = true;
	commit_schedule_note(&profile->schedule, session->received_seq - session->durable_seq);
	if (message->type == MESSAGE_STRINGS || message->type == MESSAGE_STACKS)
		profile->schedule.definition_bytes += frame->size;
	if (message->type == MESSAGE_BYE)
		profile->schedule.hurry = true;
	/* Once the end of a process is acknowledged, readers see all of it. */
	if (message->type == MESSAGE_PROCESS && message->process.state != PROCESS_RUNNING)
		profile->schedule.whole = true;
	if (message->type == MESSAGE_EVENTS) {
		turn->launches += message->events.nr_launches;
		turn->records += message->events.nr_gpu;
	}
	return 0;
}

static int apply_in_sequence(struct profile_turn *turn, struct held_frame *frame,
			     const struct message *message)
{
	struct agent_session *session = frame->session;

	frame->seq = message_seq_get(message);
	frame->awaited_seq = session->received_seq + 1;
	frame->outcome = frame->seq < frame->awaited_seq ? FRAME_REPEATED : FRAME_AFTER_GAP;
	if (frame->seq != frame->awaited_seq)
		return 0;
	session->spoke_ns = clock_realtime_ns();
	int status = session->folds ? apply_link(turn->profile, frame, message)
				    : apply_agent(turn, frame, message);
	frame->outcome = status ? FRAME_REFUSED : FRAME_APPLIED;
	frame->code = status > 0 ? (uint32_t)status : 0;
	return status < 0 ? status : 0;
}

static void note_fault(struct held_frame *frame, const char *fault)
{
	frame->outcome = FRAME_BAD;
	snprintf(frame->fault, sizeof(frame->fault), "%s", fault);
}

/* A session that an earlier frame of the turn has superseded takes no more, as if its sender had no session. */
static int apply(struct profile_turn *turn, struct held_frame *frame, struct batch_decoder *decoder)
{
	struct agent_session *session = frame->session;
	struct commit_schedule *schedule = &turn->profile->schedule;
	struct message message;
	int error = batch_decode(decoder, frame->bytes, frame->size, &message);

	if (error == -ENOMEM)
		return error;
	if (session && !session->ended)
		session->heard_ns = frame->heard_ns;
	if (error == -EPROTONOSUPPORT)
		frame->outcome = FRAME_UNKNOWN;
	else if (error)
		note_fault(frame, batch_decoder_error(decoder));
	else if (!session || session->superseded)
		frame->outcome = FRAME_NO_SESSION;
	else
		error = apply_in_sequence(turn, frame, &message);
	if (!session || !session->folds) /* else the store has none of it */
		schedule->bytes += frame->size;
	commit_schedule_date(schedule, frame->heard_ns, turn->commit_interval_ms);
	return frame->outcome == FRAME_UNKNOWN || frame->outcome == FRAME_BAD ? 0 : error;
}

/* ---- commits */

static void commit(struct profile_turn *turn)
{
	struct open_profile *profile = turn->profile;
	const uint64_t began_ns = clock_now_ns();

	turn->committed = true;
	turn->had_failed = profile->schedule.failed;
	profile->schedule.whole |= turn->wholly || turn->rests;
	turn->commit_error = open_profile_commit(profile, began_ns);
	const uint64_t ended_ns = clock_now_ns();
	turn->took_ns = ended_ns - began_ns;
	profile->metrics.changed = true; /* NCCL's calls may have been folded */
	if (turn->commit_error == 0)
		open_profile_note_commit(profile, turn->took_ns, ended_ns);
}

/* Readers take the messages of a store without a writer for those of a killed one. */
static bool has_to_commit(const struct profile_turn *turn)
{
	const struct open_profile *profile = turn->profile;

	if (turn->forced)
		return true;
	if (turn->wholly)
		return !commit_schedule_is_clean(&profile->schedule);
	if (turn->rests)
		return profile->schedule.behind;
	return turn->commits && open_profile_is_due(profile, clock_now_ns());
}

void profile_turn_run(struct worker_task *task, struct batch_decoder *decoder)
{
	struct profile_turn *turn = (struct profile_turn *)task;
	struct open_profile *profile = turn->profile;

	for (struct held_frame *frame = turn->frames; frame && !turn->error; frame = frame->next)
		turn->error = apply(turn, frame, decoder);
	if (!turn->error && has_to_commit(turn))
		commit(turn);
	if (turn->commit_error == -ENOMEM)
		turn->error = -ENOMEM;
	if (turn->error)
		return;
	if (turn->rests || metrics_board_wants(&profile->metrics, clock_now_ns()))
		metrics_board_look(&profile->metrics, profile->collection, profile->store,
				   clock_now_ns());
	if (turn->rests)
		store_rest(profile->store);
	if (turn->commits && profile->nodes)
		node_profiles_step(profile->nodes, clock_now_ns());
	if (turn->saves) {
		turn->save_error = open_profile_save_nodes(profile);
		turn->is_gone = store_has_moved(profile->store);
	}
}
