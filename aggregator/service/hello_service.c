#include "hello_service.h"

#include <errno.h>
#include <string.h>

#include "ack_sender.h"
#include "job_table.h"
#include "node_profiles.h"
#include "receiver.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "base/clock.h"
#include "base/log.h"

#define SESSIONS_MAX 65536u
/* An agent that was told to send counts for so long, until it comes. */
#define AWAITED_NS 5000000000u

/* Answers an agent that was started in another's place. The answer names the last message of the other's epoch that
 * will ever count. So all received messages are stored first, and further ones are refused. An unknown epoch has no
 * messages here. A guest may have invented it in its ring, so no agent is entered for it. */
static int answer_question(struct hello_service *service, const struct peer *peer,
			   struct open_profile *profile, const struct message_hello *hello,
			   bool was_tried, struct message *welcome)
{
	struct receiver *receiver = service->profiles->receiver;
	struct agent_session *session = collection_find_session(profile->collection, hello->epoch);

	if (session && agent_session_supersede(session, profile->collection->catalog,
					       profile->collection->roster, hello))
		ack_sender_end_epoch(receiver, session);
	if (session && session->changed && !was_tried) {
		profile->schedule.whole |= session->superseded;
		return HELLO_SERVICE_COMMIT;
	}
	if (was_tried && profile->turn.commit_error) {
		receiver_refuse(receiver, peer, REFUSE_STORE, "ask again");
		return 0;
	}
	welcome->welcome.durable_seq = session ? session->durable_seq : 0;
	receiver_send(receiver, peer, welcome);
	return 0;
}

/* Finds or makes the session. 0; -ENOMEM; -ENOSPC: there are too many. */
static int find_session(const struct open_profile *profile, const struct message_hello *hello,
			struct agent_session **session)
{
	struct collection *collection = profile->collection;
	bool is_full;

	if (hello->folds) {
		*session = node_profiles_session(profile->nodes, hello->epoch, &is_full);
	} else {
		*session = collection_find_session(collection, hello->epoch);
		is_full = !*session && collection->nr_sessions >= SESSIONS_MAX;
		if (!*session && !is_full)
			*session = collection_session(collection, hello->epoch);
	}
	return *session ? 0 : is_full ? -ENOSPC : -ENOMEM;
}

/* Ends the epochs of links that began anew. They are not awaited. */
static void end_unused(struct receiver *receiver, const struct node_profiles *nodes,
		       const struct agent_session *session)
{
	struct agent_session *unused;

	while ((unused = node_profiles_unused(nodes, session)) != NULL) {
		unused->superseded = true;
		ack_sender_end_epoch(receiver, unused);
	}
}

/* Finds the session of an agent or a link that says HELLO. *session is NULL if it was refused. 0 or -ENOMEM. */
static int greet(struct hello_service *service, struct peer *peer, struct open_profile *profile,
		 const struct message_hello *hello, struct agent_session **session)
{
	struct receiver *receiver = service->profiles->receiver;
	struct collection *collection = profile->collection;
	int error = find_session(profile, hello, session);

	if (error == -ENOSPC) {
		receiver_refuse(receiver, peer, REFUSE_LIMIT, "too many agents");
		return 0;
	}
	if (error)
		return error;
	if ((*session)->superseded) {
		ack_sender_supersede(receiver, peer, *session);
		*session = NULL;
		return 0;
	}
	(*session)->heard_ns = peer->heard_ns;
	if ((*session)->host != 0)
		return 0;
	(*session)->spoke_ns = clock_realtime_ns();
	profile->schedule.changed = profile->schedule.whole = true;
	service->agents += !hello->folds;
	error = agent_session_hello(*session, collection->catalog, collection->roster, hello);
	if (!error && hello->folds)
		end_unused(receiver, profile->nodes, *session);
	return error;
}

/* Returns how many agents have lately been told to send their events, and have not come to do so. */
static uint64_t count_awaited(const struct hello_service *service,
			      const struct open_profile *profile, const struct peer *asking)
{
	const uint64_t now_ns = clock_now_ns();
	uint32_t nr_peers;
	const struct peer *peers =
		peer_table_peers(receiver_peers(service->profiles->receiver), &nr_peers);
	uint64_t count = 0;

	for (uint32_t i = 0; i < nr_peers; i++)
		count += &peers[i] != asking && peers[i].profile == profile && !peers[i].session &&
			 peers[i].awaited_ns && now_ns < peers[i].awaited_ns + AWAITED_NS;
	return count;
}

/* Returns whether the node of an agent is to fold its events itself, as it has offered. A known agent sends. */
static bool is_to_fold(const struct hello_service *service, const struct open_profile *profile,
		       const struct peer *peer, const struct message_hello *hello)
{
	const bool is_behind = profile->slowness.is_on || profile->schedule.failed;
	uint64_t nr_agents;

	if (!profile->nodes || collection_find_session(profile->collection, hello->epoch))
		return false;
	collection_heard(profile->collection, 0, &nr_agents);
	nr_agents += count_awaited(service, profile, peer);
	return !raw_budget_has_room(&service->budget, nr_agents, is_behind);
}

/* Answers an offer, and makes no session: the answer may come too late, and the node folds then. An agent that is to
 * send says HELLO again; that of a node that folds comes no more, but its node's link. */
static void answer_offer(const struct hello_service *service, struct peer *peer,
			 const struct open_profile *profile, const struct message_hello *hello,
			 struct message *welcome)
{
	welcome->welcome.folds = is_to_fold(service, profile, peer, hello);
	peer->awaited_ns = welcome->welcome.folds ? 0 : clock_now_ns();
	if (welcome->welcome.folds && !peer->session)
		peer->profile = NULL;
	receiver_send(service->profiles->receiver, peer, welcome);
	log_debug("node %.*s is to %s", (int)hello->node.size, hello->node.data,
		  welcome->welcome.folds ? "fold its events itself" : "send its events");
}

static int welcome_peer(struct hello_service *service, struct peer *peer,
			struct open_profile *profile, const struct message_hello *hello,
			bool was_tried, struct message *welcome)
{
	struct receiver *receiver = service->profiles->receiver;
	struct agent_session *session;
	int error = greet(service, peer, profile, hello, &session);

	if (!error && !session && !peer->session)
		peer->profile = NULL;
	if (error || !session)
		return error;
	peer_table_attach(receiver_peers(receiver), peer, session);
	peer->profile = profile;
	/* The answer must be final. Earlier agents ask for the epoch before theirs without `asks`. After a refusal it
	 * asks again. */
	if (session->received_seq != session->durable_seq && !was_tried)
		return HELLO_SERVICE_COMMIT;
	if (was_tried && profile->turn.commit_error)
		return 0;
	welcome->welcome.durable_seq = session->durable_seq;
	welcome->welcome.window_bytes = ack_sender_window_bytes(peer);
	receiver_send(receiver, peer, welcome);
	log_debug("the agent of node %.*s is welcome: %llu of its messages are stored",
		  (int)hello->node.size, hello->node.data,
		  (unsigned long long)session->durable_seq);
	control_service_greet(&profile->control, peer);
	return 0;
}

static struct message make_welcome(const struct message_hello *hello)
{
	return (struct message){
		.type = MESSAGE_WELCOME,
		.welcome = {.version = message_hello_version(hello),
			    .window_frames = ACK_SENDER_FRAMES,
			    .window_bytes = ACK_SENDER_BYTES},
	};
}

/* An agent that only asks stays in the profile that it is in. */
static void go_to(struct peer *peer, struct open_profile *profile)
{
	if (peer->profile != profile)
		peer->session = NULL;
	peer->profile = profile;
}

int hello_service_find(struct hello_service *service, struct peer *peer,
		       const struct message_hello *hello, struct open_profile **profile)
{
	struct profile_set *profiles = service->profiles;
	const struct message welcome = make_welcome(hello);
	int status = 0;

	*profile = NULL;
	if (hello->version_min > welcome.welcome.version ||
	    hello->version_max < welcome.welcome.version) {
		connection_notices_version(&service->notices, profiles->receiver, peer, hello);
		return 0;
	}
	if (profiles->jobs && hello->job.key.size)
		status = job_table_admit(profiles->jobs, peer, hello, &welcome.welcome, profile);
	else
		*profile = &profiles->own;
	if (status)
		return status < 0 ? status : 0;
	if (!hello->asks)
		go_to(peer, *profile);
	profile_set_open_jobs(profiles);
	return 0;
}

int hello_service_answer(struct hello_service *service, struct peer *peer,
			 struct open_profile *profile, const struct message_hello *hello,
			 bool was_tried)
{
	struct message message = make_welcome(hello);
	const char *place = profile->said_place ? profile->said_place : profile->place;

	message.welcome.profile = (struct message_text){place, (uint32_t)strlen(place)};
	if (hello->folds && !profile->nodes) {
		receiver_refuse(service->profiles->receiver, peer, REFUSE_UNDEFINED,
				"this aggregator takes no profiles that nodes fold");
		return 0;
	}
	if (hello->offers && !hello->folds && !hello->asks) {
		answer_offer(service, peer, profile, hello, &message);
		return 0;
	}
	return hello->asks ? answer_question(service, peer, profile, hello, was_tried, &message)
			   : welcome_peer(service, peer, profile, hello, was_tried, &message);
}
