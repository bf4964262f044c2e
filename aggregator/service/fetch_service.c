#include "fetch_service.h"

#include "job_fetch.h"

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

void fetch_service_handle(struct fetch_service *service, struct peer *peer,
			  const struct message_fetch *fetch)
{
	if (fetch->kind != FETCH_LIST && fetch->kind != FETCH_READ)
		receiver_count_bad(service->receiver, peer, "a message that agents do not send");
	else if (service->fetch)
		job_fetch_ask(service->fetch, peer, fetch);
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
