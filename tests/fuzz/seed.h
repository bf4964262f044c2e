/* An input that a program makes for a target's corpus. Single-threaded. */
#ifndef SEED_H
#define SEED_H

#include <stddef.h>
#include <stdint.h>

#define SEED_SIZE_MAX 8192u

/* Zeroed: empty. */
struct seed {
	size_t size;
	uint8_t bytes[SEED_SIZE_MAX];
};

/* Appends; the process is aborted where there is no room. */
void seed_add(struct seed *seed, const void *bytes, size_t size);

/* Writes DIRECTORY/NAME-NUMBER, with one line on standard error where that fails. 0 or -1. */
int seed_write(const char *directory, const char *name, uint32_t number, const void *bytes,
	       size_t size);

#endif
