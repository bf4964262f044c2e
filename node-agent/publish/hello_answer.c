#include "hello_answer.h"

#include <stdio.h>

#define REASON_MAX 160u /* bytes of a reason that are said */

bool hello_answer_check(const struct message_hello *hello, const struct message_welcome *welcome,
			uint64_t acked, uint64_t last, char error[static HELLO_ANSWER_ERROR])
{
	const bool speaks =
		welcome->version >= hello->version_min && welcome->version <= hello->version_max;

	if (!speaks)
		snprintf(error, HELLO_ANSWER_ERROR,
			 "the aggregator speaks version %u of the protocol, this agent versions "
			 "%u to %u",
			 welcome->version, hello->version_min, hello->version_max);
	if (!speaks || hello->asks ||
	    (welcome->durable_seq >= acked && welcome->durable_seq <= last))
		return speaks;
	snprintf(error, HELLO_ANSWER_ERROR,
		 "the aggregator's store has frames up to %llu, not %llu to %llu: "
		 "it is not the one that acknowledged them",
		 (unsigned long long)welcome->durable_seq, (unsigned long long)acked,
		 (unsigned long long)last);
	return false;
}

void hello_answer_describe(const struct message_refuse *refuse,
			   char error[static HELLO_ANSWER_ERROR])
{
	snprintf(error, HELLO_ANSWER_ERROR, "the aggregator refused us (code %u): %.*s",
		 refuse->code,
		 (int)(refuse->reason.size < REASON_MAX ? refuse->reason.size : REASON_MAX),
		 refuse->reason.data ? refuse->reason.data : "");
}
