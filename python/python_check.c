#include "python_check.h"

#include <errno.h>

#include "unwind/process_memory.h"

#define STEPS_MAX       64u /* frames that do not count, too */
#define TABLE_BYTES_MAX (1u << 28)
#define NAME_LENGTH_MAX (1u << 24)

struct check {
	const struct python_library *library;
	const char *what; /* went wrong first */
};

static bool read_bytes(uint64_t address, void *to, size_t size)
{
	return process_memory_read(address, to, size) == size;
}

static bool read_word(uint64_t address, uint64_t *word)
{
	return read_bytes(address, word, sizeof(*word));
}

static bool fail(struct check *check, const char *what)
{
	check->what = what;
	return false;
}

static bool check_object(struct check *check, uint64_t field, uint64_t type, uint64_t size_max,
			 const char *what)
{
	uint64_t object, own_type, size;

	if (!read_word(field, &object) || !read_word(object + PYTHON_OBJECT_TYPE, &own_type) ||
	    own_type != type || !read_word(object + PYTHON_OBJECT_SIZE, &size) || size > size_max)
		return fail(check, what);
	return true;
}

static bool check_code(struct check *check, uint64_t code)
{
	const struct python_library *library = check->library;
	const struct python_layout *layout = &library->layout;
	uint64_t type;
	int32_t line;

	if (!read_word(code + PYTHON_OBJECT_TYPE, &type) || type != library->code_type)
		return fail(check, "a frame's code");
	if (!read_bytes(code + layout->code_first_line, &line, sizeof(line)) || line < -1)
		return fail(check, "a code's first line");
	return check_object(check, code + layout->code_file, library->string_type, NAME_LENGTH_MAX,
			    "a code's file name") &&
	       check_object(check, code + layout->code_name, library->string_type, NAME_LENGTH_MAX,
			    "a code's name") &&
	       check_object(check, code + layout->code_qualified_name, library->string_type,
			    NAME_LENGTH_MAX, "a code's qualified name") &&
	       check_object(check, code + layout->code_lines, library->bytes_type, TABLE_BYTES_MAX,
			    "a code's table of lines");
}

/* A code object's size counts its bytecode, from 3.11 on. */
static bool check_instruction(struct check *check, uint64_t frame, uint64_t code)
{
	const struct python_layout *layout = &check->library->layout;
	uint64_t instruction, units;

	if (layout->instruction != PYTHON_INSTRUCTION_POINTER)
		return true;
	if (!read_word(frame + layout->frame_instruction, &instruction) ||
	    !read_word(code + PYTHON_OBJECT_SIZE, &units) || units > TABLE_BYTES_MAX ||
	    instruction % 2 || instruction + 2 - (code + layout->code_bytecode) > 2 * units + 2)
		return fail(check, "a frame's instruction");
	return true;
}

/* Checks a frame. Returns 1 if it has checked a code, 0 if the frame has none, -1 if a check failed. *back is the next
 * frame outwards. */
static int check_frame(struct check *check, uint64_t frame, uint64_t *back)
{
	const struct python_layout *layout = &check->library->layout;
	uint64_t code;
	uint8_t mark;

	if (!read_word(frame + layout->frame_back, back)) {
		check->what = "a frame";
		return -1;
	}
	if (layout->segment == PYTHON_SEGMENT_SHIM) {
		if (!read_bytes(frame + layout->segment_mark, &mark, sizeof(mark)) ||
		    mark > layout->shim_owner + 1) {
			check->what = "a frame's owner";
			return -1;
		}
		if (mark >= layout->shim_owner)
			return 0;
	}
	if (!read_word(frame + layout->frame_code, &code)) {
		check->what = "a frame";
		return -1;
	}
	code &= layout->code_mask;
	return check_code(check, code) && check_instruction(check, frame, code) ? 1 : -1;
}

static int check_frames(struct check *check, uint64_t frame)
{
	unsigned nr = 0;

	for (unsigned steps = 0; frame && steps < STEPS_MAX && nr < PYTHON_CHECK_FRAMES; steps++) {
		uint64_t back;
		int checked = check_frame(check, frame, &back);

		if (checked < 0)
			return -EPROTO;
		nr += (unsigned)checked;
		frame = back;
	}
	return nr ? 0 : -EAGAIN;
}

int python_check(const struct python_library *library, uint64_t thread_state, const char **what)
{
	const struct python_layout *layout = &library->layout;
	struct check check = {.library = library, .what = "the thread state"};
	uint64_t frame;

	bool found = read_word(thread_state + layout->thread_frame, &frame);
	if (found && frame && layout->c_frame_frame != PYTHON_LAYOUT_NONE)
		found = read_word(frame + layout->c_frame_frame, &frame);
	int error = found ? check_frames(&check, frame) : -EPROTO;
	*what = check.what;
	return error;
}
