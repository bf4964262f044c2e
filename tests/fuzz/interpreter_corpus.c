/* Writes a small corpus for interpreter_fuzz: of each version an interpreter as it should be, one whose strings and
 * lines are of all kinds, one with frames of all kinds, and for words that 3.14 tells of itself one in which it is
 * forged.
 *	interpreter_corpus DIRECTORY	(which exists) */
#include <stdio.h>
#include <string.h>

#include "interpreter_edit.h"
#include "python/python_layout.h"
#include "seed.h"

#define MINOR_FIRST 8u
#define MINOR_LAST  14u
#define NAME(code)  ((uint8_t)((code) + 2))
#define LINES(code) ((uint8_t)((code) + 3))

/* In _PyRuntime: cookie, version, build, and offsets (python_layout.c). */
static const uint16_t told[] = {0,   8,   16,  40,  64,  72,  184, 192, 200, 208, 216, 256, 264,
				272, 288, 320, 328, 336, 344, 352, 384, 600, 608, 624, 632, 640};

static struct seed seed;

static void begin(unsigned minor, unsigned named)
{
	const uint8_t versions[] = {(uint8_t)(minor - MINOR_FIRST), (uint8_t)(named - MINOR_FIRST)};

	seed.size = 0;
	seed_add(&seed, versions, sizeof(versions));
}

static void put(uint8_t object, uint32_t offset, uint64_t value)
{
	const struct interpreter_edit edit = {.kind = INTERPRETER_EDIT_WORD,
					      .object = object,
					      .offset = (uint16_t)offset,
					      .value = value};

	seed_add(&seed, &edit, sizeof(edit));
}

static void put_half(uint8_t object, uint32_t offset, uint32_t value)
{
	const struct interpreter_edit edit = {.kind = INTERPRETER_EDIT_HALF,
					      .object = object,
					      .offset = (uint16_t)offset,
					      .value = value};

	seed_add(&seed, &edit, sizeof(edit));
}

static void add_frame(uint8_t code, uint8_t identity, uint8_t high, uint16_t instruction)
{
	const struct interpreter_edit edit = {.kind = INTERPRETER_EDIT_FRAME,
					      .object = code,
					      .form = identity,
					      .high = high,
					      .offset = instruction};

	seed_add(&seed, &edit, sizeof(edit));
}

static void look(void)
{
	const struct interpreter_edit edit = {.kind = INTERPRETER_EDIT_READ};

	seed_add(&seed, &edit, sizeof(edit));
}

static int finish(const char *directory, const char *name, uint32_t number)
{
	return seed_write(directory, name, number, seed.bytes, seed.size);
}

static int write_plain(const char *directory, unsigned minor)
{
	begin(minor, minor);
	add_frame(0, INTERPRETER_IDENTITY_FULL, 0, 8);
	add_frame(1, INTERPRETER_IDENTITY_PLACES, 0, 8);
	look();
	add_frame(1, INTERPRETER_IDENTITY_VALUE, 0, 8);
	return finish(directory, "plain", minor);
}

/* Wide, of two and four bytes; not compact; too long; not a string; nowhere. Each in a code that was not read
 * before. */
static int write_names(const char *directory, unsigned minor)
{
	const uint32_t states[] = {PYTHON_STRING_COMPACT | 1u << 2,
				   PYTHON_STRING_COMPACT | 2u << 2,
				   PYTHON_STRING_COMPACT | 4u << 2,
				   PYTHON_STRING_COMPACT | 3u << 2,
				   0,
				   PYTHON_STRING_COMPACT | PYTHON_STRING_ASCII | 1u << 2};
	const uint64_t sizes[] = {0, 3, 4000, 1u << 17, INT32_MAX, UINT64_MAX};
	const struct python_layout *layout = python_layout_of(minor);

	begin(minor, minor);
	/* Of one byte to four in UTF-8, a surrogate, and none at all; as code points of two bytes they are others. */
	put(NAME(INTERPRETER_OBJECT_LEAF), layout->string_other, 0x00000000000000e9);
	put(NAME(INTERPRETER_OBJECT_LEAF), layout->string_other + 8, 0x0001f600000020ac);
	put(NAME(INTERPRETER_OBJECT_LEAF), layout->string_other + 16, 0x001100000000d800);
	for (uint32_t i = 0; i < 6; i++) {
		put_half(NAME(INTERPRETER_OBJECT_LEAF), PYTHON_STRING_STATE, states[i]);
		put(NAME(INTERPRETER_OBJECT_LEAF), PYTHON_OBJECT_SIZE, i == 5 ? 0 : 6);
		put_half(INTERPRETER_OBJECT_LEAF, layout->code_first_line, i + 300);
		if (layout->code_version != PYTHON_LAYOUT_NONE)
			put_half(INTERPRETER_OBJECT_LEAF, layout->code_version, i + 1);
		add_frame(0, INTERPRETER_IDENTITY_PLACES, 0, 8);
		put(NAME(INTERPRETER_OBJECT_ROOT), PYTHON_OBJECT_SIZE, sizes[i]);
		put_half(INTERPRETER_OBJECT_ROOT, layout->code_first_line, i + 300);
		add_frame(1, INTERPRETER_IDENTITY_FULL, 0, 8);
		look();
	}
	return finish(directory, "names", minor);
}

/* Lines of every form, tables that are too long, and no table; then what is no code. */
static int write_lines(const char *directory, unsigned minor)
{
	const struct python_layout *layout = python_layout_of(minor);

	begin(minor, minor);
	put(LINES(INTERPRETER_OBJECT_LEAF), PYTHON_BYTES_DATA, 0xd90080f180e88005);
	put(LINES(INTERPRETER_OBJECT_LEAF), PYTHON_BYTES_DATA + 8, 0x8007f8410702faf9);
	for (uint16_t at = 0; at < 12; at += 2)
		add_frame(0, INTERPRETER_IDENTITY_FULL, 0, (uint16_t)(at * 3));
	add_frame(0, INTERPRETER_IDENTITY_FULL, 0, 60000);
	look();
	put(LINES(INTERPRETER_OBJECT_ROOT), PYTHON_OBJECT_SIZE, 0);
	add_frame(1, INTERPRETER_IDENTITY_FULL, 0, 8);
	look();
	put(LINES(INTERPRETER_OBJECT_ROOT), PYTHON_OBJECT_SIZE, 1u << 21);
	put_half(INTERPRETER_OBJECT_ROOT, layout->code_first_line, 1);
	add_frame(1, INTERPRETER_IDENTITY_PLACES, 0, 8);
	look();
	put(LINES(INTERPRETER_OBJECT_ROOT), PYTHON_OBJECT_TYPE, 1);
	put_half(INTERPRETER_OBJECT_ROOT, layout->code_first_line, 2);
	add_frame(1, INTERPRETER_IDENTITY_PLACES, 0, 8);
	look();
	put(INTERPRETER_OBJECT_ROOT, PYTHON_OBJECT_TYPE, 1);
	put_half(INTERPRETER_OBJECT_ROOT, layout->code_first_line, 3);
	add_frame(1, INTERPRETER_IDENTITY_PLACES, 0, 8);
	return finish(directory, "lines", minor);
}

/* Owners and marks; frames that have not begun; and only frames that are none. */
static int write_frames(const char *directory, unsigned minor)
{
	const struct python_layout *layout = python_layout_of(minor);

	begin(minor, minor);
	if (layout->code_first_traceable != PYTHON_LAYOUT_NONE)
		put_half(INTERPRETER_OBJECT_LEAF, layout->code_first_traceable, 6);
	for (unsigned high = 0; high < 256; high += 15)
		add_frame((uint8_t)(high % 2), INTERPRETER_IDENTITY_FULL, (uint8_t)high, 8);
	look();
	if (finish(directory, "frames", minor) != 0)
		return -1;
	begin(minor, minor);
	put(INTERPRETER_OBJECT_LEAF, PYTHON_OBJECT_TYPE, 1);
	add_frame(0, INTERPRETER_IDENTITY_FULL, 0, 8);
	for (uint32_t i = 0; i < 34; i++)
		look();
	return finish(directory, "none", minor);
}

static int write_threads(const char *directory, unsigned minor)
{
	const struct python_layout *layout = python_layout_of(minor);

	begin(minor, minor);
	put(INTERPRETER_OBJECT_THREAD, layout->thread_interpreter, 8);
	if (finish(directory, "owner", minor) != 0)
		return -1;
	begin(minor, minor);
	put(INTERPRETER_OBJECT_RUNTIME, layout->runtime_interpreters, 8);
	if (finish(directory, "nowhere", minor) != 0)
		return -1;
	begin(minor, minor);
	put(INTERPRETER_OBJECT_INTERPRETER, layout->interpreter_threads, 0);
	return finish(directory, "threadless", minor);
}

static int write_forged(const char *directory)
{
	const uint64_t values[] = {0, 120, PYTHON_LAYOUT_OFFSET_MAX, UINT64_MAX};

	for (uint32_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		begin(MINOR_LAST, MINOR_LAST);
		put(INTERPRETER_OBJECT_RUNTIME, told[i], values[i % 4]);
		add_frame(0, INTERPRETER_IDENTITY_FULL, 0, 8);
		if (finish(directory, "forged", i) != 0)
			return -1;
	}
	begin(MINOR_LAST, MINOR_LAST - 1);
	return finish(directory, "other", 0);
}

int main(int argc, char **argv)
{
	int failed = argc != 2;

	if (failed)
		fprintf(stderr, "interpreter_corpus: give a directory\n");
	for (unsigned minor = MINOR_FIRST; minor <= MINOR_LAST && !failed; minor++)
		failed = write_plain(argv[1], minor) != 0 || write_names(argv[1], minor) != 0 ||
			 write_lines(argv[1], minor) != 0 || write_frames(argv[1], minor) != 0 ||
			 write_threads(argv[1], minor) != 0;
	return failed || write_forged(argv[1]) != 0;
}
