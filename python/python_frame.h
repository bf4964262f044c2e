/* The fields of a frame that a walk needs. The caller makes sure that the memory is there. Pure; any thread. */
#ifndef PYTHON_FRAME_H
#define PYTHON_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "python_code.h"

static inline uint8_t python_load_byte(uint64_t address)
{
	return *(const uint8_t *)(uintptr_t)address;
}

static inline int32_t python_load_int(uint64_t address)
{
	int32_t value;

	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}

static inline uint64_t python_frame_code(const struct python_layout *layout, uint64_t frame)
{
	return python_load(frame + layout->frame_code) & layout->code_mask;
}

/* Returns the bytes from the start of the bytecode to the instruction that runs. code is the address of the frame's
 * code; nothing is read there. */
static inline int32_t python_frame_instruction(const struct python_layout *layout, uint64_t frame,
					       uint64_t code)
{
	switch ((enum python_instruction)layout->instruction) {
	case PYTHON_INSTRUCTION_BYTES:
		return python_load_int(frame + layout->frame_instruction);
	case PYTHON_INSTRUCTION_UNITS:
		return 2 * python_load_int(frame + layout->frame_instruction);
	case PYTHON_INSTRUCTION_POINTER:
	default:
		return (int32_t)(python_load(frame + layout->frame_instruction) -
				 (code + layout->code_bytecode));
	}
}

/* Returns whether it is a frame of the interpreter itself, which runs no code of its own. */
static inline bool python_frame_is_shim(const struct python_layout *layout, uint64_t frame)
{
	return layout->segment == PYTHON_SEGMENT_SHIM &&
	       python_load_byte(frame + layout->segment_mark) >= layout->shim_owner;
}

/* Judges as the interpreter itself does (_PyFrame_IsIncomplete in pycore_frame.h). A generator's frame is always
 * complete. Another frame is complete once it has come to the first traceable instruction. code is read. */
static inline bool python_frame_is_incomplete(const struct python_layout *layout, uint64_t frame,
					      uint64_t code, int32_t instruction)
{
	return layout->code_first_traceable != PYTHON_LAYOUT_NONE &&
	       python_load_byte(frame + layout->frame_owner) != PYTHON_OWNER_GENERATOR &&
	       instruction < 2 * python_load_int(code + layout->code_first_traceable);
}

/* Returns the bytes of a frame that say what it is: who owns it, and whether it ends a segment. */
static inline uint16_t python_frame_kind(const struct python_layout *layout, uint64_t frame)
{
	switch ((enum python_segment)layout->segment) {
	case PYTHON_SEGMENT_SHIM:
		return python_load_byte(frame + layout->segment_mark);
	case PYTHON_SEGMENT_ENTRY:
		return (uint16_t)(python_load_byte(frame + layout->segment_mark) |
				  python_load_byte(frame + layout->frame_owner) << 8);
	case PYTHON_SEGMENT_EVERY:
	default:
		return 0;
	}
}

/* Returns a word that is equal for equal code and instruction. code is read. numbered: python_code_is_numbered() */
static inline uint64_t python_frame_key(const struct python_layout *layout, bool numbered,
					uint64_t code, int32_t instruction)
{
	return python_mix(python_code_identity_by(layout, numbered, code) ^ PYTHON_MIX_B,
			  (uint32_t)instruction ^ PYTHON_MIX_C);
}

#endif
