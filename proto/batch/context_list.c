#include "context_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void context_list_fini(struct context_list *list)
{
	free(list->contexts);
	*list = (struct context_list){0};
}

/* nr_contexts: it is not there. */
static uint32_t place_of(const struct context_list *list, uint32_t context_id)
{
	uint32_t place = 0;

	while (place < list->nr_contexts && list->contexts[place].context_id != context_id)
		place++;
	return place;
}

int context_list_put(struct context_list *list, const struct message_context *context)
{
	uint32_t place = place_of(list, context->context_id);

	if (place == CONTEXT_LIST_MAX)
		return -ENOSPC;
	if (array_reserve(&list->contexts, &list->room, place + 1, sizeof(*list->contexts)))
		return -ENOMEM;
	list->contexts[place] = *context;
	if (place == list->nr_contexts)
		list->nr_contexts++;
	list->changed = true;
	return 0;
}

const struct message_context *context_list_find(const struct context_list *list,
						uint32_t context_id)
{
	uint32_t place = place_of(list, context_id);

	return place < list->nr_contexts ? &list->contexts[place] : NULL;
}
