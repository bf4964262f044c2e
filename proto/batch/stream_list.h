/* The streams of one process: names, priorities, flags. A name is a string id of the list's owner. One thread. */
#ifndef STREAM_LIST_H
#define STREAM_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

#include "proto/definition.h"

#define STREAM_LIST_MAX 65536u /* streams of one process */

/* Zeroed: empty. */
struct stream_list {
	struct message_stream *streams; /* owns; by context id, then stream id */
	uint32_t nr_streams, room;
	bool changed; /* set by stream_list_put(); the owner of the list clears it */
};

void stream_list_fini(struct stream_list *list);

/* Adds a stream, or replaces the one with its ids. 0; -ENOSPC: STREAM_LIST_MAX; -ENOMEM. */
int stream_list_put(struct stream_list *list, const struct message_stream *stream);

/* NULL: nothing is known. Borrowed until the next put. */
const struct message_stream *stream_list_find(const struct stream_list *list, uint32_t context_id,
					      uint32_t stream_id);

#endif
