#include "python_record.h"

#include "python_frame.h"

#include "proto/launch_path.h"

#define KIND_BITS     16  /* of a read's place */
#define HASHED_FRAMES 12u /* the innermost ones tell nearly all stacks apart */

/* Returns whether frames name the instruction by its address, and codes have numbers. */
static inline bool is_new(const struct python_layout *layout)
{
	return layout->segment == PYTHON_SEGMENT_SHIM;
}

/* Returns the key of a frame that runs code; never 0. */
static inline __attribute__((always_inline)) uint64_t key_of(const struct python_layout *layout,
							     bool new_layout, uint64_t frame)
{
	uint64_t code = python_frame_code(layout, frame);
	int32_t instruction = new_layout
				      ? (int32_t)(python_load(frame + layout->frame_instruction) -
						  (code + layout->code_bytecode))
				      : python_frame_instruction(layout, frame, code);
	uint64_t key = python_frame_key(layout, new_layout || python_code_is_numbered(layout), code,
					instruction);

	return key ? key : 1;
}

/* The next frame is guessed, so that the processor need not wait for one before it looks at the next. */
static inline uint64_t follow(uint64_t frame, uint64_t guess)
{
	if (__builtin_expect(frame != guess, 0)) {
		__asm__ volatile("" : "+r"(frame)); /* a branch, as a conditional move would wait */
		return frame;
	}
	return guess;
}

LAUNCH_PATH uint64_t python_record_hash(const struct python_layout *layout, uint64_t first)
{
	uint64_t frame = first, words = 0;

	for (uint32_t i = 0; frame && i < HASHED_FRAMES; i++) {
		if (!python_frame_is_shim(layout, frame))
			words = python_turn(words, 5) ^
				(python_frame_code(layout, frame) +
				 (uint32_t)python_load_int(frame + layout->frame_instruction));
		frame = python_load(frame + layout->frame_back);
	}
	return words;
}

__attribute__((cold)) uint32_t python_record_count(const struct python_layout *layout,
						   uint64_t first)
{
	uint64_t frame = first;
	uint32_t nr = 0;

	for (; frame && nr <= PYTHON_RECORD_MAX; nr++)
		frame = python_load(frame + layout->frame_back);
	return nr;
}

__attribute__((cold)) void python_record_write(const struct python_layout *layout, uint64_t first,
					       struct python_read *reads, uint32_t nr)
{
	uint64_t frame = first;

	for (uint32_t i = 0; i < nr; i++) {
		bool shim = python_frame_is_shim(layout, frame);

		reads[i] = (struct python_read){
			.key = shim ? 0 : key_of(layout, is_new(layout), frame),
			.place = (frame - first) << KIND_BITS | python_frame_kind(layout, frame),
		};
		frame = python_load(frame + layout->frame_back);
	}
}

/* new_layout: as is_new() says, so that the compiler knows it. Short code counts more than few instructions, because it
 * is seldom in the nearest cache. */
static inline __attribute__((always_inline)) bool holds(const struct python_layout *layout,
							bool new_layout, uint64_t first,
							const struct python_read *reads,
							uint32_t nr)
{
	uint64_t frame = first;

	for (uint32_t i = 0; i < nr; i++) {
		frame = follow(frame, first + (uint64_t)((int64_t)reads[i].place >> KIND_BITS));
		if (frame == 0)
			return false;
		uint16_t kind = new_layout ? python_load_byte(frame + layout->segment_mark)
					   : python_frame_kind(layout, frame);
		/* The kind comes first: a frame of the interpreter itself may have no code. */
		if (kind != (uint16_t)reads[i].place)
			return false;
		if (reads[i].key && key_of(layout, new_layout, frame) != reads[i].key)
			return false;
		frame = python_load(frame + layout->frame_back);
	}
	return frame == 0;
}

static __attribute__((noinline)) bool holds_old(const struct python_layout *layout, uint64_t first,
						const struct python_read *reads, uint32_t nr)
{
	return holds(layout, false, first, reads, nr);
}

LAUNCH_PATH bool python_record_holds(const struct python_layout *layout, uint64_t first,
				     const struct python_read *reads, uint32_t nr)
{
	return __builtin_expect(is_new(layout), 1) ? holds(layout, true, first, reads, nr)
						   : holds_old(layout, first, reads, nr);
}
