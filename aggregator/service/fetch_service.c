#include "fetch_service.h"

#include <string.h>

#include "job_fetch.h"

#include "base/clock.h"

int fetch_service_start(struct fetch_service *service, struct receiver *receiver,
			const char *directory, bool knows_users, int wake_fd)
{
	*service = (struct fetch_service){.receiver = receiver, .has_jobs = directory != NULL};
	return directory && knows_users ? job_fetch_start(directory, wake_fd, &service->fetch) : 0;
}

void fetch_service_stop(struct fetch_service *service)
{
	job_fetch_stop(service->fetch);
	service->fetch = NULL;
}

bool fetch_service_may_ask(struct peer_table *peers, struct peer *peer, uint64_t now_ns)
{
	uint32_t nr_peers, asking = 0;
	const struct peer *all = peer_table_peers(peers, &nr_peers);
	bool asks = peer->asked_ns && now_ns - peer->asked_ns < FETCH_SERVICE_ASKING_NS;

	for (uint32_t i = 0; i < nr_peers && !asks; i++)
		asking += all[i].asked_ns && now_ns - all[i].asked_ns < FETCH_SERVICE_ASKING_NS &&
			  strcmp(all[i].user, peer->user) == 0;
	if (asking >= FETCH_SERVICE_OF_USER)
		return false;
	peer->asked_ns = now_ns;
	return true;
}

void fetch_service_handle(struct fetch_service *service, struct peer *peer,
			  const struct message_fetch *fetch)
{
	if (fetch->kind != FETCH_LIST && fetch->kind != FETCH_READ)
		receiver_count_bad(service->receiver, peer, "a message that agents do not send");
	else if (service->fetch &&
		 fetch_service_may_ask(receiver_peers(service->receiver), peer, clock_now_ns()))
		job_fetch_ask(service->fetch, peer, fetch);
	else if (service->fetch)
		return;
	else if (service->has_jobs)
		receiver_refuse(service->receiver, peer, REFUSE_DENIED,
				"this aggregator lets nobody read, as it has no --user-keys");
	else
		receiver_refuse(service->receiver, peer, REFUSE_UNDEFINED,
				"this aggregator keeps no profiles of jobs");
}

void fetch_service_step(struct fetch_service *service)
{
	const struct message *answer;
	const struct peer *peer;

	while (service->fetch && (answer = job_fetch_next(service->fetch, &peer)) != NULL)
		receiver_send(service->receiver, peer, answer);
}
