#include "stream_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void stream_list_fini(struct stream_list *list)
{
	free(list->streams);
	*list = (struct stream_list){0};
}

/* Returns the place of the first stream that is not before this one. */
static uint32_t place_of(const struct stream_list *list, uint32_t context_id, uint32_t stream_id)
{
	uint64_t wanted = (uint64_t)context_id << 32 | stream_id;
	uint32_t low = 0, high = list->nr_streams;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct message_stream *stream = &list->streams[middle];

		if (((uint64_t)stream->context_id << 32 | stream->stream_id) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct stream_list *list, uint32_t place, uint32_t context_id,
		  uint32_t stream_id)
{
	return place < list->nr_streams && list->streams[place].context_id == context_id &&
	       list->streams[place].stream_id == stream_id;
}

int stream_list_put(struct stream_list *list, const struct message_stream *stream)
{
	uint32_t place = place_of(list, stream->context_id, stream->stream_id);

	if (is_at(list, place, stream->context_id, stream->stream_id)) {
		list->streams[place] = *stream;
		list->changed = true;
		return 0;
	}
	if (list->nr_streams == STREAM_LIST_MAX)
		return -ENOSPC;
	if (array_reserve(&list->streams, &list->room, list->nr_streams + 1,
			  sizeof(*list->streams)))
		return -ENOMEM;
	memmove(&list->streams[place + 1], &list->streams[place],
		(list->nr_streams - place) * sizeof(list->streams[0]));
	list->streams[place] = *stream;
	list->nr_streams++;
	list->changed = true;
	return 0;
}

const struct message_stream *stream_list_find(const struct stream_list *list, uint32_t context_id,
					      uint32_t stream_id)
{
	uint32_t place = place_of(list, context_id, stream_id);

	return is_at(list, place, context_id, stream_id) ? &list->streams[place] : NULL;
}
