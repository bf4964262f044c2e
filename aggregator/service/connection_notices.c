#include "connection_notices.h"

#include <stdio.h>

#include "descriptor_limit.h"
#include "receiver.h"

#include "base/log.h"

#define CROWDED_NS 60000000000u /* from one notice to the next */

static void say_crowded(struct connection_notices *notices, uint64_t crowded, uint64_t now_ns)
{
	if (crowded == notices->crowded_said ||
	    (notices->crowded_said && now_ns - notices->crowded_said_ns < CROWDED_NS))
		return;
	log_warning(
		"there are more connections than this process may have: %llu were ended. With a "
		"higher limit of open files (ulimit -n, now %u) there is room for more agents",
		(unsigned long long)(crowded - notices->crowded_said), descriptor_limit());
	notices->crowded_said = crowded;
	notices->crowded_said_ns = now_ns;
}

void connection_notices_step(struct connection_notices *notices,
			     const struct receiver_counts *counts, uint64_t now_ns)
{
	if (counts->strangers && !notices->stranger_said)
		log_info("a connection was turned away: it does not have this aggregator's "
			 "keys; further ones are only counted");
	notices->stranger_said = counts->strangers > 0;
	say_crowded(notices, counts->crowded, now_ns);
}

void connection_notices_version(struct connection_notices *notices, struct receiver *receiver,
				const struct peer *peer, const struct message_hello *hello)
{
	char reason[160];

	snprintf(reason, sizeof(reason),
		 "this aggregator speaks version %u of the protocol, the agent versions %u to %u",
		 message_hello_version(hello), hello->version_min, hello->version_max);
	receiver_refuse(receiver, peer, REFUSE_VERSION, reason);
	if (!notices->version_said)
		log_warning("an agent was refused: %s; it tries again, and keeps what it can",
			    reason);
	notices->version_said = true;
}
