/* A checksum of a file of ours. It finds damage, not malice. Pure; any thread. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Adds data to the checksum of what lies before it; 0: nothing does. It takes eight bytes at a time, and fills the last
 * ones up with 0. So a reader adds the same parts as the writer. */
uint64_t checksum_add(uint64_t checksum, const void *data, size_t size);

#endif
