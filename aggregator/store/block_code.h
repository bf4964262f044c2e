/* Encodes lists of structs as bytes for the store: blocks of the correlator's and the memory account's state, ids, open
 * intervals, samples and devices' work. Each field is a column of deltas (column.h) behind its length, a 32-bit
 * little-endian number. The layout is part of the store's schema. Pure. */
#ifndef BLOCK_CODE_H
#define BLOCK_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/memory_slots.h"
#include "aggregator/core/timeline_interval.h"
#include "aggregator/profile/idle_work.h"
#include "proto/host_sample.h"

/* Holds the bytes. Embedded; zeroed memory is empty. */
struct block_code {
	uint8_t *bytes; /* owns */
	size_t size;
	uint32_t room;
};

void block_code_fini(struct block_code *code);

/* Each function replaces the contents of code. 0 or -ENOMEM. */
int block_code_launches(struct block_code *code, const struct launch *launches, uint32_t count);
int block_code_records(struct block_code *code, const struct waiting_records_entry *records,
		       uint32_t count);
int block_code_ids(struct block_code *code, const uint32_t *ids, uint32_t count);
int block_code_slots(struct block_code *code, const struct memory_slot *slots, uint32_t count);
int block_code_intervals(struct block_code *code, const struct timeline_interval *intervals,
			 uint32_t count);
int block_code_samples(struct block_code *code, const struct host_sample *samples, uint32_t count);
int block_code_work(struct block_code *code, const struct idle_work *work, uint32_t count);

/* Decode exactly count elements from exactly size bytes. 0 or -EBADMSG. */
int block_decode_launches(const uint8_t *bytes, size_t size, struct launch *launches,
			  uint32_t count);
int block_decode_records(const uint8_t *bytes, size_t size, struct waiting_records_entry *records,
			 uint32_t count);
int block_decode_ids(const uint8_t *bytes, size_t size, uint32_t *ids, uint32_t count);
int block_decode_slots(const uint8_t *bytes, size_t size, struct memory_slot *slots,
		       uint32_t count);
int block_decode_intervals(const uint8_t *bytes, size_t size, struct timeline_interval *intervals,
			   uint32_t count);
int block_decode_samples(const uint8_t *bytes, size_t size, struct host_sample *samples,
			 uint32_t count);
int block_decode_work(const uint8_t *bytes, size_t size, struct idle_work *work, uint32_t count);

#endif
