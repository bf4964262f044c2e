/* The bytes of a record ring, shared by record_ring_writer.h and record_ring_reader.h and included nowhere else.
 *
 * header | counters | lane controls | meters | marks | log | stack index | stack arena | code index | code arena |
 * definitions | activity | collectives | launch lane 0 | 1 | …
 *
 * every part on a page boundary, all offsets a function of the sizes (ring_layout()), so that a reader computes them
 * itself and believes none. Counters only grow; positions in a lane are counters modulo its size. */
#ifndef RECORD_RING_LAYOUT_H
#define RECORD_RING_LAYOUT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "record_ring.h"

#include "proto/definition.h"

#define RING_MAGIC   0x3147524657414c46ull /* "FLAWFRG1" as little-endian bytes */
#define RING_VERSION 9u
#define RING_PAGE    4096u
#define RING_REASONS 128u                     /* LEDGER_REASONS of them are in use */
#define RING_DEVICES (RECORD_DEVICES_MAX + 1) /* the last one is the process itself */
#define RING_LINE    64

static_assert(RECORD_RING_DEFINITION_MIN >= 2 * DEFINITION_SIZE_MAX, "one definition and the next");
static_assert(LEDGER_REASONS <= RING_REASONS, "shared-memory format");
static_assert(RECORD_DEVICES_MAX <= 64, "a bit a device");

/* Kinds of records that are gone: nobody can read them again. They are counted. */
enum ring_gone_kind {
	RING_GONE_LAUNCHES,
	RING_GONE_RECORDS,
	RING_GONE_COLLECTIVES,
	RING_GONE_KINDS
};

/* A lane's two ends, each on its own cache line. */
struct ring_lane {
	/* records (definitions: bytes) ever written */
	_Alignas(RING_LINE) _Atomic uint64_t produced;
	_Atomic uint64_t dropped; /* launches that found the lane full */
	_Atomic uint64_t
		marks; /* records with RECORD_LAUNCH_FAILED or _HOST, which are no launches */
	_Atomic uint32_t owned; /* launch lanes: 1 while a thread has it */
	_Alignas(RING_LINE) _Atomic uint64_t read;
	_Atomic uint64_t release; /* release <= read <= produced, produced - release <= capacity */
};

/* A launch lane's meter. The lane's owner alone writes it. */
struct ring_meter {
	_Alignas(RING_LINE) _Atomic uint64_t words[RECORD_METER_WORDS];
};

/* A sequence lock: command_seq is odd while a command is written, and the reader reads again if it has changed. */
struct ring_control {
	_Alignas(RING_LINE) _Atomic uint32_t
		command_seq; /* the agent writes this and the command */
	_Atomic uint32_t action;
	_Atomic uint64_t from_ns, until_ns;
	_Alignas(RING_LINE) _Atomic uint32_t
		capture_state; /* the guest writes this and nr_windows */
	_Atomic uint32_t nr_windows;
};

struct ring_header {
	_Atomic uint64_t magic; /* written last */
	uint32_t version;
	struct record_ring_sizes sizes;
	_Alignas(RING_LINE) _Atomic uint32_t state; /* enum record_ring_state */
	_Atomic uint32_t lanes; /* launch lanes ever claimed; the reader reads no others */
	_Alignas(RING_LINE) _Atomic uint32_t next_stack; /* ids given out, 0-based */
	_Atomic uint64_t next_word;
	_Alignas(RING_LINE) _Atomic uint32_t next_code; /* ids given out, 0-based */
	_Atomic uint64_t next_code_word;
	struct ring_lane activity, definition;
	struct ring_control control;
	_Alignas(RING_LINE) _Atomic uint64_t log_produced; /* bytes of definitions in the log */
	_Atomic uint64_t log_full; /* definitions that found no room in the log */
	_Atomic uint64_t counted;  /* one bit for each device that has counters */
	/* The agent writes its beat and its epoch (zeros: no agent that keeps marks). */
	_Alignas(RING_LINE) _Atomic uint64_t beat_ns;
	_Atomic uint64_t owner[2];
	_Atomic uint32_t
		probe; /* 1: the agent gets the stacks of launches from the guest's probe */
	_Atomic uint32_t
		mark_slots; /* marks lie in slots below this number; the others were never touched */
	/* records that all agents so far gave back to the guest and that are in no stored message */
	_Atomic uint64_t gone[RING_GONE_KINDS];
	struct ring_lane collective; /* produced counts claimed places */
	/* the agent writes it: samples of kernels before this position of their lane are in stored messages */
	_Atomic uint64_t samples_begin;
};

/* A place in the collective lane. Once the record is written, turn is the record's number plus one. */
struct ring_collective {
	_Atomic uint64_t turn;
	struct collective_record record;
};

struct ring_counter {
	_Atomic uint64_t count, ns;
};

/* A mark says how far the agent had read when it sent a message. It is an array of words:
 *   - `seq` is the message's number plus one; 0: the mark is not in use. It is written last;
 *   - then the cursors of the activity, the definition and the collective lane;
 *   - then the numbers of gone records when the agent took the ring;
 *   - then the number of launch lanes, and the cursor of each. */
enum ring_mark_word {
	RING_MARK_SEQ = 0,
	RING_MARK_ACTIVITY,
	RING_MARK_DEFINITION,
	RING_MARK_COLLECTIVE,
	RING_MARK_GONE,
	RING_MARK_LANES = RING_MARK_GONE + RING_GONE_KINDS, /* launch lanes that follow */
	RING_MARK_LAUNCH,
};

#define RING_MARK_WORDS_MAX (RING_MARK_LAUNCH + RECORD_RING_LANES_MAX)

static inline uint64_t ring_mark_words(const struct record_ring_sizes *sizes)
{
	return RING_MARK_LAUNCH + sizes->launch_lanes;
}

struct ring_layout {
	uint64_t counters, lane_controls, meters, marks, log, stack_index, stack_arena, code_index,
		code_arena;
	uint64_t definition, activity, collective, launch;
	uint64_t size;
};

static_assert(sizeof(struct ring_header) <= RING_PAGE, "the header is one page");

#define RING_STACK_DEPTH_BITS 8
static_assert(RECORD_STACK_DEPTH < (1u << RING_STACK_DEPTH_BITS),
	      "depth shares a word with the offset");

/* An entry of the code index has the offset of the names in words plus one, and the size of each; 0: no entry. */
#define RING_CODE_TEXT_BITS 13
static_assert(RECORD_CODE_TEXT_MAX < (1u << RING_CODE_TEXT_BITS),
	      "sizes share a word with the offset");

static inline uint64_t ring_pages(uint64_t bytes)
{
	return (bytes + RING_PAGE - 1) / RING_PAGE * RING_PAGE;
}

static inline int ring_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* 0; -EPROTO: sizes that no guest may ask for. */
static inline int ring_layout(const struct record_ring_sizes *sizes, struct ring_layout *layout)
{
	if (sizes->launch_lanes == 0 || sizes->launch_lanes > RECORD_RING_LANES_MAX ||
	    sizes->stacks > RECORD_STACKS_MAX || !ring_power_of_two(sizes->launch_lane_records) ||
	    !ring_power_of_two(sizes->activity_records) ||
	    !ring_power_of_two(sizes->definition_bytes) || !ring_power_of_two(sizes->stacks) ||
	    !ring_power_of_two(sizes->stack_words) || sizes->codes > RECORD_CODES_MAX ||
	    !ring_power_of_two(sizes->codes) || !ring_power_of_two(sizes->code_words) ||
	    sizes->definition_bytes < RECORD_RING_DEFINITION_MIN ||
	    sizes->log_bytes > RECORD_RING_LOG_MAX ||
	    (sizes->collectives && !ring_power_of_two(sizes->collectives)))
		return -EPROTO;
	layout->counters = RING_PAGE;
	layout->lane_controls = layout->counters + ring_pages(sizeof(struct ring_counter) *
							      RING_DEVICES * RING_REASONS);
	layout->meters =
		layout->lane_controls + ring_pages(sizeof(struct ring_lane) * sizes->launch_lanes);
	layout->marks =
		layout->meters + ring_pages(sizeof(struct ring_meter) * sizes->launch_lanes);
	layout->log = layout->marks + ring_pages(8ull * RECORD_RING_MARKS * ring_mark_words(sizes));
	layout->stack_index = layout->log + ring_pages(sizes->log_bytes);
	layout->stack_arena = layout->stack_index + ring_pages(8ull * sizes->stacks);
	layout->code_index = layout->stack_arena + ring_pages(8ull * sizes->stack_words);
	layout->code_arena = layout->code_index + ring_pages(8ull * sizes->codes);
	layout->definition = layout->code_arena + ring_pages(8ull * sizes->code_words);
	layout->activity = layout->definition + ring_pages(sizes->definition_bytes);
	layout->collective = layout->activity + ring_pages(sizeof(struct gpu_record) *
							   (uint64_t)sizes->activity_records);
	layout->launch = layout->collective +
			 ring_pages(sizeof(struct ring_collective) * (uint64_t)sizes->collectives);
	layout->size = layout->launch +
		       ring_pages(sizeof(struct launch_record) * (uint64_t)sizes->launch_lanes *
				  sizes->launch_lane_records);
	return layout->size <= RECORD_RING_SIZE_MAX ? 0 : -EPROTO;
}

/* Sums the meters of the lanes that were ever claimed, nr_lanes at most. */
static inline void ring_meters_sum(const struct ring_header *header,
				   const struct ring_meter *meters, uint32_t nr_lanes,
				   uint64_t sums[static RECORD_METER_WORDS])
{
	uint32_t claimed = atomic_load_explicit(&header->lanes, memory_order_acquire);

	memset(sums, 0, RECORD_METER_WORDS * sizeof(*sums));
	for (uint32_t i = 0; i < claimed && i < nr_lanes; i++)
		for (uint32_t word = 0; word < RECORD_METER_WORDS; word++)
			sums[word] = ledger_add_saturating(
				sums[word],
				atomic_load_explicit(&meters[i].words[word], memory_order_relaxed));
}

#endif
