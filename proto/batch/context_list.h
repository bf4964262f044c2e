/* The contexts of one process that are parts of others. Used by one thread. */
#ifndef CONTEXT_LIST_H
#define CONTEXT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

#include "proto/definition.h"

#define CONTEXT_LIST_MAX 1024u /* of one process */

/* Zeroed: empty. */
struct context_list {
	struct message_context *contexts; /* owns; as they came */
	uint32_t nr_contexts, room;
	bool changed; /* for the keeper to clear */
};

void context_list_fini(struct context_list *list);

/* A word on a context, in place of an earlier one. 0; -ENOSPC: CONTEXT_LIST_MAX; -ENOMEM. */
int context_list_put(struct context_list *list, const struct message_context *context);

/* NULL: it is a context of its own, as far as is known. Borrowed until the next put. */
const struct message_context *context_list_find(const struct context_list *list,
						uint32_t context_id);

#endif
