/* Puts mapped ids into the blocks of a store that have ids in them (block_code.h). Pure. */
#ifndef MERGE_BLOCK_H
#define MERGE_BLOCK_H

#include <stdint.h>

#include "merge_map.h"

#include "aggregator/store/block_code.h"

/* Each decodes count elements and encodes them anew into *code. kind: of pending. 0; -EPROTO: no
 * such block; -ENOMEM. */
int merge_block_pending(const uint8_t *bytes, uint32_t size, uint32_t count, uint32_t kind,
			const struct merge_map *map, struct block_code *code);
int merge_block_samples(const uint8_t *bytes, uint32_t size, uint32_t count,
			const struct merge_map *map, struct block_code *code);
int merge_block_work(const uint8_t *bytes, uint32_t size, uint32_t count,
		     const struct merge_map *map, struct block_code *code);
int merge_block_processes(const uint8_t *bytes, uint32_t size, uint32_t count,
			  const struct merge_map *map, struct block_code *code);

#endif
