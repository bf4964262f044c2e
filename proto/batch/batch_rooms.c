#include "batch_rooms.h"

#include <errno.h>
#include <stdlib.h>

void batch_rooms_fini(struct batch_rooms *rooms)
{
	for (uint32_t i = 0; i < BATCH_ROOMS; i++)
		free(rooms->rooms[i].memory);
	*rooms = (struct batch_rooms){0};
}

void *batch_rooms_get(struct batch_rooms *rooms, struct batch_fault *fault, uint32_t index,
		      uint32_t count, size_t size_bytes)
{
	size_t wanted = count * size_bytes;

	if (fault->err || count == 0)
		return NULL;
	if (rooms->rooms[index].size < wanted) {
		free(rooms->rooms[index].memory);
		rooms->rooms[index].memory = malloc(wanted);
		rooms->rooms[index].size = rooms->rooms[index].memory ? wanted : 0;
		if (!rooms->rooms[index].memory)
			batch_fault_set(fault, -ENOMEM, "out of memory for %u items", count);
	}
	return rooms->rooms[index].memory;
}
