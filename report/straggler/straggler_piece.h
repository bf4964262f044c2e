/* A piece of GPU work that a profile has kept (kept_log.h), as those see it who compare ranks. Pure; any thread. */
#ifndef STRAGGLER_PIECE_H
#define STRAGGLER_PIECE_H

#include <stdbool.h>
#include <stdint.h>

struct catalog;
struct host_sample;

/* Returns when it began, by the clock of its end. */
uint64_t straggler_piece_start(const struct host_sample *piece);

/* Sorts pieces by their starts. */
void straggler_piece_sort(struct host_sample *pieces, uint32_t count);

/* Returns whether it is a kernel of NCCL. */
bool straggler_piece_is_nccl(const struct catalog *catalog, const struct host_sample *piece);

#endif
