#include "python_codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "remote_memory.h"

#include "base/hash_index.h"
#include "bpf/sample_event.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/guests/ring_outputs.h"
#include "proto/stack_word.h"
#include "python/python_line.h"
#include "python/python_string.h"

#define CODES_MAX        (1u << 14) /* at this limit all codes are forgotten */
#define LINES_MAX        (1u << 20) /* bytes of one table of lines */
#define LINES_TOTAL_MAX  (64u << 20)
#define STRING_BYTES_MAX (1u << 16) /* of one name */
#define CODE_BYTES       (PYTHON_LAYOUT_OFFSET_MAX + 8u)
#define PLACES           (1u << 12) /* addresses whose last code is remembered */
#define NAMELESS         "<unknown>"
#define AHEAD            3u /* for a code's file, name and lines */
#define AHEAD_BYTES      512u
#define PAGE             4096u
#define GENERATIONS_MAX  4u /* ancestors whose codes are kept for forked processes */

struct python_code {
	uint64_t address, identity;
	uint32_t code_id;
	int32_t first_line, first;
	uint32_t lines_size;
	uint8_t *lines; /* owns */
};

struct place {
	uint64_t address, identity; /* identity 0: none was found */
};

/* Bytes of the process that were read together with others. */
struct window {
	uint64_t address;
	uint32_t size; /* 0: nothing was read */
	uint8_t bytes[AHEAD_BYTES];
};

struct python_codes {
	const struct ring_outputs *outputs;
	struct python_codes *parent; /* shares; NULL: none */
	uint32_t nr_users, generation;
	pid_t pid;
	struct python_layout layout;
	struct python_types types;
	uint32_t code_size; /* bytes of a code object up to the last field that is read */
	uint64_t text_room, lines_total;
	uint32_t nr;
	struct hash_index index;    /* finds a code's number + 1 */
	struct window ahead[AHEAD]; /* for the code that is being read */
	bool has_missed;            /* a part of it had to be read by itself */
	struct place places[PLACES];
	struct python_code codes[CODES_MAX];
};

static uint32_t code_size(const struct python_layout *layout)
{
	const uint16_t fields[] = {PYTHON_OBJECT_TYPE,          layout->code_file,
				   layout->code_qualified_name, layout->code_lines,
				   layout->code_first_line,     layout->code_version,
				   layout->code_first_traceable};
	uint32_t size = 0;

	for (uint32_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i] <= PYTHON_LAYOUT_OFFSET_MAX && fields[i] + 8u > size)
			size = fields[i] + 8u;
	return size;
}

struct python_codes *python_codes_create(const struct ring_outputs *outputs, pid_t pid,
					 const struct python_layout *layout,
					 const struct python_types *types)
{
	struct python_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return NULL;
	codes->outputs = outputs;
	codes->nr_users = 1;
	codes->pid = pid;
	codes->layout = *layout;
	codes->types = *types;
	codes->code_size = code_size(layout);
	codes->text_room = RING_OUTPUTS_NAMES_SIZE_MAX;
	return codes;
}

static void forget_all(struct python_codes *codes)
{
	for (uint32_t i = 0; i < codes->nr; i++)
		free(codes->codes[i].lines);
	hash_index_clear(&codes->index);
	codes->nr = 0;
	codes->lines_total = 0;
}

void python_codes_destroy(struct python_codes *codes)
{
	if (!codes || --codes->nr_users)
		return;
	forget_all(codes);
	hash_index_fini(&codes->index);
	python_codes_destroy(codes->parent);
	free(codes);
}

struct python_codes *python_codes_share(struct python_codes *codes)
{
	if (codes)
		codes->nr_users++;
	return codes;
}

void python_codes_inherit(struct python_codes *codes, struct python_codes *parent)
{
	if (codes->parent || !parent || parent->generation == GENERATIONS_MAX ||
	    memcmp(&codes->types, &parent->types, sizeof(codes->types)) != 0)
		return;
	codes->parent = python_codes_share(parent);
	codes->generation = parent->generation + 1;
}

/* ---- objects of the process ------------------------------------------------------------------------ */

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static void forget_ahead(struct python_codes *codes)
{
	for (uint32_t i = 0; i < AHEAD; i++)
		codes->ahead[i].size = 0;
	codes->has_missed = false;
}

/* Reads the beginnings of names and lines up to the end of their page, which mostly covers them. */
static void read_ahead(struct python_codes *codes, const uint8_t *object)
{
	const struct python_layout *layout = &codes->layout;
	const uint64_t from[AHEAD] = {word_at(object, layout->code_file),
				      word_at(object, layout->code_qualified_name),
				      word_at(object, layout->code_lines)};
	struct remote_range ranges[AHEAD];

	forget_ahead(codes);
	for (uint32_t i = 0; i < AHEAD; i++) {
		uint64_t room = PAGE - from[i] % PAGE;

		ranges[i] = (struct remote_range){from[i], codes->ahead[i].bytes,
						  room < AHEAD_BYTES ? room : AHEAD_BYTES};
	}
	uint32_t nr = remote_memory_read_ranges(codes->pid, ranges, AHEAD);
	for (uint32_t i = 0; i < nr; i++) {
		codes->ahead[i].address = from[i];
		codes->ahead[i].size = (uint32_t)ranges[i].size;
	}
}

static int read_memory(struct python_codes *codes, uint64_t address, void *to, size_t size)
{
	for (uint32_t i = 0; i < AHEAD; i++) {
		const struct window *window = &codes->ahead[i];
		uint64_t offset = address - window->address;

		if (offset < window->size && size <= window->size - offset) {
			memcpy(to, window->bytes + offset, size);
			return 0;
		}
	}
	codes->has_missed = true;
	return remote_memory_read(codes->pid, address, to, size) ? -ESTALE : 0;
}

/* Trusts only the first read of the string's head: later reads may already show another string. */
static int read_string(struct python_codes *codes, uint64_t address, struct python_text *text,
		       uint8_t **object)
{
	const struct python_layout *layout = &codes->layout;
	uint8_t head[PYTHON_STRING_HEAD];
	int r = read_memory(codes, address, head, sizeof(head));

	*object = NULL;
	if (r)
		return r;
	uint64_t length = word_at(head, PYTHON_OBJECT_SIZE);
	uint32_t state = (uint32_t)word_at(head, PYTHON_STRING_STATE);
	uint64_t data = state & PYTHON_STRING_ASCII ? layout->string_ascii : layout->string_other;
	if (word_at(head, PYTHON_OBJECT_TYPE) != codes->types.string || length > INT32_MAX)
		return -EPROTO;
	uint64_t bytes = length * (state & PYTHON_STRING_ASCII ? 1 : PYTHON_STRING_KIND(state));
	if (!(state & PYTHON_STRING_COMPACT) || bytes > STRING_BYTES_MAX) {
		text->text = PYTHON_STRING_UNREADABLE;
		text->size = sizeof(PYTHON_STRING_UNREADABLE) - 1;
		return 0;
	}
	*object = calloc(1, data + bytes + sizeof(uint32_t));
	if (!*object)
		return -ENOMEM;
	r = read_memory(codes, address, *object, data + bytes);
	memcpy(*object, head, sizeof(head));
	if (r == 0)
		python_string_read(layout, (uint64_t)(uintptr_t)*object, text);
	return r;
}

static int intern_string(struct python_codes *codes, uint64_t address, uint32_t *id)
{
	struct python_text text;
	uint8_t *object;
	int r = read_string(codes, address, &text, &object);

	if (r == 0 && text.size > codes->text_room)
		r = -ENOSPC;
	if (r == 0) {
		codes->text_room -= text.size;
		r = string_dictionary_intern(codes->outputs->strings, text.text, text.size, id);
	}
	if (r == 0 && *id == STRING_NONE)
		r = string_dictionary_intern(codes->outputs->strings, NAMELESS, strlen(NAMELESS),
					     id);
	free(object);
	return r;
}

static int read_lines(struct python_codes *codes, uint64_t address, struct python_code *code)
{
	uint8_t head[PYTHON_BYTES_DATA];
	int r = read_memory(codes, address, head, sizeof(head));

	if (r)
		return r;
	uint64_t size = word_at(head, PYTHON_OBJECT_SIZE);
	if (word_at(head, PYTHON_OBJECT_TYPE) != codes->types.bytes)
		return -EPROTO;
	if (size > LINES_MAX)
		return 0;
	code->lines = malloc(size + 1); /* empty up to 3.9 if the code has no steps */
	if (!code->lines)
		return -ENOMEM;
	code->lines_size = (uint32_t)size;
	return size == 0 ? 0 : read_memory(codes, address + PYTHON_BYTES_DATA, code->lines, size);
}

static bool read_contents(struct python_codes *codes, struct sample_python_identity *to)
{
	const uint64_t lines = to->lines + SAMPLE_PYTHON_HEAD;

	return read_memory(codes, to->file + SAMPLE_PYTHON_HEAD, to->file_head,
			   sizeof(to->file_head)) == 0 &&
	       read_memory(codes, to->name + SAMPLE_PYTHON_HEAD, to->name_head,
			   sizeof(to->name_head)) == 0 &&
	       read_memory(codes, lines, to->lines_head, sizeof(to->lines_head)) == 0 &&
	       read_memory(codes, lines + to->lines_head[0], to->lines_tail,
			   sizeof(to->lines_tail)) == 0;
}

/* Compares the identity with the contents, and without them: for waits the kernel's half leaves contents out. */
static bool is_identity(struct python_codes *codes, const uint8_t *object, uint64_t wanted)
{
	const struct python_layout *layout = &codes->layout;
	struct sample_python_identity identity = {
		.file = word_at(object, layout->code_file),
		.name = word_at(object, layout->code_qualified_name),
		.lines = word_at(object, layout->code_lines),
		.first_line = (uint32_t)word_at(object, layout->code_first_line),
		.version = layout->code_version == PYTHON_LAYOUT_NONE
				   ? 0
				   : (uint32_t)word_at(object, layout->code_version),
	};

	if (sample_python_hash(&identity) == wanted)
		return true;
	return !identity.version && read_contents(codes, &identity) &&
	       sample_python_hash(&identity) == wanted;
}

static int read_names(struct python_codes *codes, const uint8_t *object, uint32_t *code_id)
{
	struct message_code names = {0};
	int r = intern_string(codes, word_at(object, codes->layout.code_file), &names.file);

	if (r == 0)
		r = intern_string(codes, word_at(object, codes->layout.code_qualified_name),
				  &names.name);
	return r ? r : stack_dictionary_add_code(codes->outputs->stacks, names, code_id);
}

static bool is_code(const struct python_codes *codes, const uint8_t *object)
{
	return word_at(object, PYTHON_OBJECT_TYPE) == codes->types.code;
}

/* Checks the object's identity before and after everything else is read. */
static int read_code(struct python_codes *codes, struct python_code *code)
{
	const struct python_layout *layout = &codes->layout;
	uint8_t object[CODE_BYTES], again[CODE_BYTES];

	forget_ahead(codes);
	if (remote_memory_read(codes->pid, code->address, object, codes->code_size))
		return -ESTALE;
	read_ahead(codes, object);
	if (!is_identity(codes, object, code->identity))
		return -ESTALE;
	if (!is_code(codes, object))
		return -EPROTO;
	code->first_line = (int32_t)word_at(object, layout->code_first_line);
	if (layout->code_first_traceable != PYTHON_LAYOUT_NONE)
		code->first =
			(int32_t)((uint32_t)word_at(object, layout->code_first_traceable) * 2u);
	int r = read_names(codes, object, &code->code_id);
	if (r == 0)
		r = read_lines(codes, word_at(object, layout->code_lines), code);
	if (r == -ENOMEM)
		return r;
	if (codes->has_missed)
		forget_ahead(codes);
	if (remote_memory_read(codes->pid, code->address, again, codes->code_size) ||
	    !is_identity(codes, again, code->identity) || !is_code(codes, again))
		return -ESTALE;
	return r;
}

/* ---- those that are known -------------------------------------------------------------------------- */

static uint32_t hash_of(const struct python_code *code)
{
	const uint64_t key[] = {code->address, code->identity};

	return hash_index_hash(key, sizeof(key));
}

static bool is_same(const void *context, uint32_t id, const void *key)
{
	const struct python_code *code = &((const struct python_codes *)context)->codes[id - 1];
	const struct python_code *wanted = key;

	return code->address == wanted->address && code->identity == wanted->identity;
}

static struct place *place_of(struct python_codes *codes, uint64_t address)
{
	return &codes->places[hash_index_hash_word(address) % PLACES];
}

static bool is_there(struct python_codes *codes, uint64_t address, uint64_t identity)
{
	uint8_t object[CODE_BYTES];

	forget_ahead(codes);
	return remote_memory_read(codes->pid, address, object, codes->code_size) == 0 &&
	       is_code(codes, object) && is_identity(codes, object, identity);
}

static uint64_t identity_at(struct python_codes *codes, uint64_t address)
{
	for (struct python_codes *known = codes; known; known = known->parent) {
		const struct place *place = place_of(known, address);

		if (place->identity && place->address == address)
			return is_there(codes, address, place->identity) ? place->identity : 0;
	}
	return 0;
}

int python_codes_find(struct python_codes *codes, uint64_t address, uint64_t identity,
		      const struct python_code **code)
{
	*code = NULL;
	if (identity == 0)
		identity = identity_at(codes, address);
	if (identity == 0)
		return -ESTALE;
	struct python_code read = {.address = address, .identity = identity};
	uint32_t hash = hash_of(&read);
	uint32_t id = hash_index_find(&codes->index, hash, is_same, codes, &read);
	if (!id) {
		int r = read_code(codes, &read);

		if (r) {
			free(read.lines);
			return r == -ESTALE && codes->parent
				       ? python_codes_find(codes->parent, address, identity, code)
				       : r;
		}
		if (codes->nr >= CODES_MAX || codes->lines_total > LINES_TOTAL_MAX)
			forget_all(codes);
		if (hash_index_insert(&codes->index, hash, codes->nr + 1)) {
			free(read.lines);
			return -ENOMEM;
		}
		codes->codes[codes->nr++] = read;
		codes->lines_total += read.lines_size;
		id = codes->nr;
	}
	*place_of(codes, address) = (struct place){address, identity};
	*code = &codes->codes[id - 1];
	return 0;
}

void python_code_frame(const struct python_codes *codes, const struct python_code *code,
		       int32_t instruction, struct message_frame *frame)
{
	*frame = (struct message_frame){.module = MESSAGE_FRAME_NO_MODULE, .code = code->code_id};
	if (!code->lines)
		return;
	uint32_t line = python_line(codes->layout.line_format, code->lines, code->lines_size,
				    code->first_line, instruction);
	frame->offset = line < STACK_WORD_LINE_MAX ? line : STACK_WORD_LINE_MAX;
}

int32_t python_code_first(const struct python_code *code)
{
	return code->first;
}
