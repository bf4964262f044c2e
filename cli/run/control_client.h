/* Sends a request to a running agent over its socket (proto/control.h). */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include <stdint.h>

#include "proto/control.h"

struct control_answer {
	struct control_reply head;
	struct control_process processes[CONTROL_PROCESSES_MAX];
};

/* Fills in the request's magic and version, sends it to the agent that listens at `path`, and waits for the answer, at
 * most two seconds. 0: *answer is well formed, whatever its status; -errno of connect(): no agent listens there;
 * -ETIMEDOUT: no answer; -ECONNRESET: the agent ended before it answered; -EPROTO: the answer makes no sense. */
int control_client_ask(const char *path, struct control_request *request,
		       struct control_answer *answer);

/* Asks for CONTROL_RESULT of this run, with the same errors. A refusal is -EPROTO. */
int control_client_ask_result(const char *path, uint32_t run, struct control_result *result);

/* Returns an enum control_status as a phrase. Static storage. */
const char *control_client_status(uint32_t status);

#endif
