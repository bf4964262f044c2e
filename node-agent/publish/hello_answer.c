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

void hello_answer_place(const struct message_welcome *welcome,
			char place[static HELLO_ANSWER_PLACE])
{
	snprintf(place, HELLO_ANSWER_PLACE, "%.*s", (int)welcome->profile.size,
		 welcome->profile.data ? welcome->profile.data : "");
}

static void describe(const struct message_refuse *refuse, char error[static HELLO_ANSWER_ERROR])
{
	snprintf(error, HELLO_ANSWER_ERROR, "the aggregator refused us (code %u): %.*s",
		 refuse->code,
		 (int)(refuse->reason.size < REASON_MAX ? refuse->reason.size : REASON_MAX),
		 refuse->reason.data ? refuse->reason.data : "");
}

enum hello_answer_refusal hello_answer_refusal(const struct message_hello *hello,
					       const struct message_refuse *refuse,
					       char error[static HELLO_ANSWER_ERROR])
{
	switch (refuse->code) {
	case REFUSE_NO_HELLO:
		return HELLO_ANSWER_AGAIN;
	case REFUSE_VERSION: /* the aggregator may be upgraded later */
		describe(refuse, error);
		return hello->asks ? HELLO_ANSWER_NEVER : HELLO_ANSWER_LATER;
	case REFUSE_SEQUENCE:
	case REFUSE_STORE:
	case REFUSE_LIMIT:
		return HELLO_ANSWER_LATER;
	default:
		describe(refuse, error);
		return HELLO_ANSWER_NEVER;
	}
}
