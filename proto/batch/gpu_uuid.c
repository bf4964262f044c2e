#include "gpu_uuid.h"

#include <stdio.h>
#include <string.h>

bool gpu_uuid_is_part(const char *name, uint32_t size)
{
	static const char mark[] = " MIG ";

	return memmem(name, size, mark, sizeof(mark) - 1) != NULL;
}

void gpu_uuid_text(const uint8_t uuid[static WIRE_UUID_SIZE], bool is_part,
		   char text[static GPU_UUID_TEXT_SIZE])
{
	static const uint8_t nothing[WIRE_UUID_SIZE];
	size_t at = 4;

	*text = '\0';
	if (memcmp(uuid, nothing, WIRE_UUID_SIZE) == 0)
		return;
	memcpy(text, is_part ? "MIG-" : "GPU-", 4);
	for (unsigned int i = 0; i < WIRE_UUID_SIZE; i++)
		at += (size_t)snprintf(text + at, GPU_UUID_TEXT_SIZE - at,
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				       uuid[i]);
}
