#include "clock_service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/clock_log.h"
#include "base/clock.h"

#define BOOT_ID_FILE   "/proc/sys/kernel/random/boot_id"
#define TIME_NAMESPACE "/proc/self/ns/time"
#define OFFSET_MAX_NS  (INT64_MAX / 4) /* 73 years; a sum of four still fits */

static int describe(char **text)
{
	char boot_id[64] = "", namespace[64];
	FILE *file = fopen(BOOT_ID_FILE, "re");
	ssize_t size = readlink(TIME_NAMESPACE, namespace, sizeof(namespace) - 1);

	if (file && !fgets(boot_id, sizeof(boot_id), file))
		*boot_id = '\0';
	if (file)
		fclose(file);
	boot_id[strcspn(boot_id, "\n")] = '\0';
	namespace[size < 0 ? 0 : size] = '\0'; /* Linux before 5.6 has no time namespaces */
	if (asprintf(text, "%s%s%s", *boot_id ? boot_id : "unknown", size < 0 ? "" : " ",
		     namespace) >= 0)
		return 0;
	*text = NULL;
	return -ENOMEM;
}

int clock_service_init(struct clock_service *service, struct receiver *receiver,
		       struct collection *collection)
{
	service->receiver = receiver;
	service->collection = collection;
	return describe(&service->reference);
}

void clock_service_fini(struct clock_service *service)
{
	free(service->reference);
}

void clock_service_answer(struct receiver *receiver, const struct peer *peer,
			  const struct message_clock *question, uint64_t arrived_ns)
{
	struct message message = {
		.type = MESSAGE_CLOCK,
		.clock = {.kind = CLOCK_ANSWER,
			  .t1_ns = question->t1_ns,
			  .t2_ns = arrived_ns,
			  .realtime_offset_ns = clock_realtime_offset_ns()},
	};

	message.clock.t3_ns = clock_now_ns();
	receiver_send(receiver, peer, &message);
}

static bool is_within(int64_t offset_ns)
{
	return offset_ns <= OFFSET_MAX_NS && offset_ns >= -OFFSET_MAX_NS;
}

static bool is_possible(const struct message_clock *result)
{
	return result->bound_ns > 0 && result->bound_ns <= (uint64_t)CLOCK_BOUND_MAX_NS &&
	       result->round_trip_ns <= 2 * result->bound_ns && is_within(result->offset_ns) &&
	       is_within(result->realtime_offset_ns) && result->t1_ns <= (uint64_t)OFFSET_MAX_NS;
}

static int keep(struct clock_service *service, const struct agent_session *session,
		const struct message_clock *clock)
{
	struct collection *collection = service->collection;
	struct clock_offset offset = {
		.host = session->host,
		.time_ns = clock->t1_ns,
		.offset_ns = clock->offset_ns,
		.bound_ns = clock->bound_ns,
		.round_trip_ns = clock->round_trip_ns,
		.realtime_offset_ns = clock->realtime_offset_ns,
		.reference_realtime_offset_ns = clock_realtime_offset_ns(),
	};
	int error = catalog_add_string(collection->catalog, service->reference,
				       (uint32_t)strlen(service->reference), &offset.reference);

	return error ? error : clock_log_add(collection->clocks, &offset);
}

int clock_service_handle(struct clock_service *service, struct peer *peer,
			 const struct message_clock *clock, uint64_t arrived_ns, bool *changed)
{
	if (clock->kind != CLOCK_RESULT || !is_possible(clock)) {
		receiver_count_bad(service->receiver, peer, "CLOCK has impossible values");
		return 0;
	}
	if (!peer->session ||
	    (peer->clock_ns && arrived_ns - peer->clock_ns < CLOCK_SERVICE_RESULT_NS))
		return 0;
	peer->clock_ns = arrived_ns;
	*changed = true;
	return keep(service, peer->session, clock);
}
