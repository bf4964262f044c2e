#include "seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void seed_add(struct seed *seed, const void *bytes, size_t size)
{
	if (size > SEED_SIZE_MAX - seed->size)
		abort();
	if (size)
		memcpy(seed->bytes + seed->size, bytes, size);
	seed->size += size;
}

int seed_write(const char *directory, const char *name, uint32_t number, const void *bytes,
	       size_t size)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s-%02u", directory, name, number) >=
	    (int)sizeof(path))
		return -1;
	FILE *file = fopen(path, "wb");
	size_t written = file ? fwrite(bytes, 1, size, file) : 0;
	if (!file || fclose(file) != 0 || written != size) {
		perror(path);
		return -1;
	}
	return 0;
}
