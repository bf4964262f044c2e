#include "python_layout.h"

#include <string.h>

#define NONE PYTHON_LAYOUT_NONE
#define ALL  (~0ull)

/* Where the numbers come from: offsetof() compiled against the headers that each release installs
 * (Include/cpython/frameobject.h and code.h, Include/internal/pycore_frame.h, pycore_interp.h, pycore_runtime.h;
 * 3.14: pycore_interpframe_structs.h, pycore_debug_offsets.h), x86_64, builds with the GIL and
 * without Py_DEBUG: 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14.10. Struct layouts do
 * not change within a minor version once it is released. */

/* What all versions share. */
#define EVERY_LAYOUT .thread_prev = 0, .thread_next = 8, .thread_interpreter = 16

/* 3.8 to 3.10: PyThreadState.frame, PyFrameObject, PyCodeObject. */
#define FRAME_OBJECTS                       \
	EVERY_LAYOUT,                       \
	.thread_frame = 24,                 \
	.c_frame_frame = NONE,              \
	.frame_code = 32,                   \
	.frame_back = 24,                   \
	.frame_owner = NONE,                \
	.segment_mark = NONE,               \
	.segment = PYTHON_SEGMENT_EVERY,    \
	.code_mask = ALL,                   \
	.code_first_line = 40,              \
	.code_file = 104,                   \
	.code_name = 112,                   \
	.code_lines = 120,                  \
	.code_qualified_name = 112,         \
	.code_bytecode = NONE,              \
	.code_first_traceable = NONE,       \
	.code_version = NONE,               \
	.string_ascii = 48,                 \
	.string_other = 72,                 \
	.runtime_interpreters = 32,         \
	.interpreter_next = 0,              \
	.interpreter_threads = 8,           \
	.thread_id = 176

/* Since 3.11: _PyInterpreterFrame. */
#define INTERPRETER_FRAMES                          \
	EVERY_LAYOUT,                               \
	.frame_instruction = 56,                    \
	.instruction = PYTHON_INSTRUCTION_POINTER,  \
	.line_format = PYTHON_LINE_LOCATIONS,       \
	.code_file = 112,                           \
	.code_name = 120,                           \
	.code_lines = 136,                          \
	.code_qualified_name = 128

/* Since 3.12. Owner 3 marks the loop's own frame: FRAME_OWNED_BY_CSTACK, and in 3.14 FRAME_OWNED_BY_INTERPRETER,
 * where FRAME_OWNED_BY_CSTACK is 4. Strings lose their wchar_t part. */
#define SHIM_FRAMES                      \
	INTERPRETER_FRAMES,              \
	.frame_code = 0,                 \
	.frame_back = 8,                 \
	.segment = PYTHON_SEGMENT_SHIM,  \
	.shim_owner = 3,                 \
	.code_first_line = 68,           \
	.code_version = 92,              \
	.string_ascii = 40,              \
	.string_other = 56

static const struct python_layout layouts[] = {
	{
		FRAME_OBJECTS,
		.minor = 8,
		.frame_instruction = 104,
		.instruction = PYTHON_INSTRUCTION_BYTES,
		.line_format = PYTHON_LINE_LNOTAB,
	},
	{
		FRAME_OBJECTS,
		.minor = 9,
		.frame_instruction = 104,
		.instruction = PYTHON_INSTRUCTION_BYTES,
		.line_format = PYTHON_LINE_LNOTAB,
	},
	{
		/* f_lasti counts units from here on; co_linetable takes co_lnotab's place. */
		FRAME_OBJECTS,
		.minor = 10,
		.frame_instruction = 96,
		.instruction = PYTHON_INSTRUCTION_UNITS,
		.line_format = PYTHON_LINE_PAIRS,
	},
	{
		/* PyThreadState.cframe, _PyCFrame.current_frame, is_entry and prev_instr. */
		INTERPRETER_FRAMES,
		.minor = 11,
		.thread_frame = 56,
		.c_frame_frame = 8,
		.frame_code = 32,
		.frame_back = 48,
		.frame_owner = 69,
		.segment_mark = 68,
		.segment = PYTHON_SEGMENT_ENTRY,
		.code_mask = ALL,
		.code_first_line = 72,
		.code_bytecode = 184,
		.code_first_traceable = 168,
		.code_version = NONE,
		.string_ascii = 48,
		.string_other = 72,
		.runtime_interpreters = 40,
		.interpreter_next = 0,
		.interpreter_threads = 16,
		.thread_id = 152,
	},
	{
		SHIM_FRAMES,
		.minor = 12,
		.thread_frame = 56,
		.c_frame_frame = 0,
		.frame_owner = 70,
		.segment_mark = 70,
		.code_mask = ALL,
		.code_bytecode = 192,
		.code_first_traceable = 176,
		.runtime_interpreters = 40,
		.interpreter_next = 0,
		.interpreter_threads = 72,
		.thread_id = 136,
	},
	{
		/* PyThreadState.current_frame; f_executable and instr_ptr. */
		SHIM_FRAMES,
		.minor = 13,
		.thread_frame = 72,
		.c_frame_frame = NONE,
		.frame_owner = 70,
		.segment_mark = 70,
		.code_mask = ALL,
		.code_bytecode = 200,
		.code_first_traceable = 184,
		.runtime_interpreters = 632,
		.interpreter_next = 7264,
		.interpreter_threads = 7344,
		.thread_id = 152,
	},
	{
		/* f_executable is a tagged reference (pycore_stackref.h: Py_TAG_BITS, the two low ones). */
		SHIM_FRAMES,
		.minor = 14,
		.thread_frame = 72,
		.c_frame_frame = NONE,
		.frame_owner = 74,
		.segment_mark = 74,
		.code_mask = ~3ull,
		.code_bytecode = 208,
		.code_first_traceable = 192,
		.runtime_interpreters = 808,
		.interpreter_next = 7272,
		.interpreter_threads = 7344,
		.thread_id = 152,
	},
};

const struct python_layout *python_layout_of(unsigned minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* CPython does not tell this distance. It has been the same since 3.11. */
#define BYTECODE_BEHIND_TRACEABLE 16u

/* Words of _Py_DebugOffsets (pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14), which has
 * a layout of its own in each minor version. */
enum { COOKIE = 0, VERSION = 1, FREE_THREADED = 2 };

struct offset_words {
	uint16_t minor;
	uint16_t thread_frame, frame_back, frame_code, frame_instruction, frame_owner;
	uint16_t code_file, code_name, code_qualified_name, code_lines, code_first_line;
	uint16_t runtime_interpreters, interpreter_next, interpreter_threads;
	uint16_t thread_prev, thread_next, thread_interpreter, thread_id;
	uint16_t code_bytecode, bytes_size, bytes_data, string_state, string_length, string_ascii;
};

static const struct offset_words offset_words[] = {
	{
		.minor = 13,
		.runtime_interpreters = 40 / 8,
		.interpreter_next = 64 / 8,
		.interpreter_threads = 72 / 8,
		.thread_prev = 160 / 8,
		.thread_next = 168 / 8,
		.thread_interpreter = 176 / 8,
		.thread_id = 192 / 8,
		.thread_frame = 184 / 8,
		.frame_back = 232 / 8,
		.frame_code = 240 / 8,
		.frame_instruction = 248 / 8,
		.frame_owner = 264 / 8,
		.code_file = 280 / 8,
		.code_name = 288 / 8,
		.code_qualified_name = 296 / 8,
		.code_lines = 304 / 8,
		.code_first_line = 312 / 8,
		.code_bytecode = 344 / 8,
		.bytes_size = 520 / 8,
		.bytes_data = 528 / 8,
		.string_state = 544 / 8,
		.string_length = 552 / 8,
		.string_ascii = 560 / 8,
	},
	{
		.minor = 14,
		.runtime_interpreters = 40 / 8,
		.interpreter_next = 64 / 8,
		.interpreter_threads = 72 / 8,
		.thread_prev = 184 / 8,
		.thread_next = 192 / 8,
		.thread_interpreter = 200 / 8,
		.thread_id = 216 / 8,
		.thread_frame = 208 / 8,
		.frame_back = 256 / 8,
		.frame_code = 264 / 8,
		.frame_instruction = 272 / 8,
		.frame_owner = 288 / 8,
		.code_file = 320 / 8,
		.code_name = 328 / 8,
		.code_qualified_name = 336 / 8,
		.code_lines = 344 / 8,
		.code_first_line = 352 / 8,
		.code_bytecode = 384 / 8,
		.bytes_size = 600 / 8,
		.bytes_data = 608 / 8,
		.string_state = 624 / 8,
		.string_length = 632 / 8,
		.string_ascii = 640 / 8,
	},
};

static const struct offset_words *offset_words_of(unsigned minor)
{
	for (size_t i = 0; i < sizeof(offset_words) / sizeof(offset_words[0]); i++)
		if (offset_words[i].minor == minor)
			return &offset_words[i];
	return NULL;
}

static void take_below(uint16_t *offset, uint64_t word, uint16_t max, bool *sane)
{
	if (word > max)
		*sane = false;
	else
		*offset = (uint16_t)word;
}

static void take(uint16_t *offset, uint64_t word, bool *sane)
{
	take_below(offset, word, PYTHON_LAYOUT_OFFSET_MAX, sane);
}

static void take_threads(struct python_layout *taken, const struct offset_words *at,
			 const uint64_t *words, bool *sane)
{
	take_below(&taken->runtime_interpreters, words[at->runtime_interpreters],
		   PYTHON_LAYOUT_THREADS_MAX, sane);
	take_below(&taken->interpreter_next, words[at->interpreter_next], PYTHON_LAYOUT_THREADS_MAX,
		   sane);
	take_below(&taken->interpreter_threads, words[at->interpreter_threads],
		   PYTHON_LAYOUT_THREADS_MAX, sane);
	take(&taken->thread_prev, words[at->thread_prev], sane);
	take(&taken->thread_next, words[at->thread_next], sane);
	take(&taken->thread_interpreter, words[at->thread_interpreter], sane);
	take(&taken->thread_id, words[at->thread_id], sane);
}

enum python_offsets python_layout_take_offsets(struct python_layout *layout, const uint64_t *words)
{
	const struct offset_words *at = offset_words_of(layout->minor);
	struct python_layout taken = *layout;
	bool sane = true;

	if (!at)
		return PYTHON_OFFSETS_ABSENT;
	if (memcmp(&words[COOKIE], "xdebugpy", 8) != 0 ||
	    words[VERSION] >> 16 != (3u << 8 | layout->minor))
		return PYTHON_OFFSETS_OTHER;
	if (words[FREE_THREADED])
		return PYTHON_OFFSETS_FREE_THREADED;
	take_threads(&taken, at, words, &sane);
	take(&taken.thread_frame, words[at->thread_frame], &sane);
	take(&taken.frame_back, words[at->frame_back], &sane);
	take(&taken.frame_code, words[at->frame_code], &sane);
	take(&taken.frame_instruction, words[at->frame_instruction], &sane);
	take(&taken.frame_owner, words[at->frame_owner], &sane);
	take(&taken.code_file, words[at->code_file], &sane);
	take(&taken.code_name, words[at->code_name], &sane);
	take(&taken.code_qualified_name, words[at->code_qualified_name], &sane);
	take(&taken.code_lines, words[at->code_lines], &sane);
	take(&taken.code_first_line, words[at->code_first_line], &sane);
	take(&taken.code_bytecode, words[at->code_bytecode], &sane);
	take(&taken.string_ascii, words[at->string_ascii], &sane);
	if (!sane || words[at->bytes_size] != PYTHON_OBJECT_SIZE ||
	    words[at->bytes_data] != PYTHON_BYTES_DATA ||
	    words[at->string_state] != PYTHON_STRING_STATE ||
	    words[at->string_length] != PYTHON_OBJECT_SIZE ||
	    taken.string_ascii < PYTHON_STRING_HEAD ||
	    taken.code_bytecode < BYTECODE_BEHIND_TRACEABLE)
		return PYTHON_OFFSETS_OTHER;
	taken.code_first_traceable = (uint16_t)(taken.code_bytecode - BYTECODE_BEHIND_TRACEABLE);
	taken.segment_mark = taken.frame_owner;
	*layout = taken;
	return PYTHON_OFFSETS_TAKEN;
}
