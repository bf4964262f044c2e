/* The guest's side of a record ring. Only record_ring_writer.c and record_ring_trim.c include it. */
#ifndef RECORD_RING_WRITER_H
#define RECORD_RING_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record_ring_layout.h"

#define TRIM_NONE     UINT64_MAX
#define STRETCHES     32u /* in each lane */
#define STRETCH_LEAST 64u /* records */

/* What record_ring_trim_launches() and record_ring_trim_activity() remember of a lane: the records that were produced
 * at the last call, and at the last call that gave memory back. */
struct lane_rest {
	uint64_t seen, trimmed;
};

/* A lane's producer writes one stretch after the other, so that a push reads one shared cache line less. Nobody uses
 * the memory beyond the current stretch, so record_ring_trim_launches() may give it back. */
struct launch_lane {
	_Alignas(RING_LINE) struct ring_lane *control;
	struct launch_record *records;
	_Atomic uint64_t limit; /* the producer writes it: the end of its stretch */
	/* the record at which the next stretch must end; TRIM_NONE: no memory is being given back */
	_Atomic uint64_t trim;
	struct lane_rest rest;
	bool is_open; /* its owner may access the records, and changes this */
};

struct record_ring {
	uint8_t *base;
	uint64_t size;
	size_t own_size; /* of this struct's mapping */
	uint64_t launch_mask, activity_mask, definition_mask;
	uint32_t stacks, stack_words, codes, code_words, nr_lanes, log_bytes;
	struct ring_header *header;
	struct ring_counter *counters;
	struct ring_lane *lane_controls;
	struct ring_meter *meters;
	_Atomic uint64_t *stack_index;
	uint64_t *stack_arena;
	_Atomic uint64_t *code_index;
	uint64_t *code_arena;
	uint8_t *definitions, *log;
	bool keeps_code;               /* in the log */
	uint64_t code_bytes, code_crc; /* of the log; of the cubin whose pieces go there; 0: none */
	struct gpu_record *activity;
	struct lane_rest activity_rest;
	struct ring_collective *collectives;
	uint64_t nr_collectives; /* places */
	struct launch_lane lanes[];
};

#endif
