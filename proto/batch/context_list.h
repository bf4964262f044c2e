/* The green contexts of one process. Used by one thread. */
#ifndef CONTEXT_LIST_H
#define CONTEXT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

#include "proto/definition.h"

#define CONTEXT_LIST_MAX 1024u /* of one process */

/* Zeroed: empty. */
struct context_list {
	struct message_context *contexts; /* owns; in the order of their definition */
	uint32_t nr_contexts, room;
	bool changed; /* set by context_list_put(); the owner of the list clears it */
};

void context_list_fini(struct context_list *list);

/* Adds a context, or replaces the one with its id. 0; -ENOSPC: CONTEXT_LIST_MAX; -ENOMEM. */
int context_list_put(struct context_list *list, const struct message_context *context);

/* NULL: not known as a green context. Borrowed until the next put. */
const struct message_context *context_list_find(const struct context_list *list,
						uint32_t context_id);

#endif
