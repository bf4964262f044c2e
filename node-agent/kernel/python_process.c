#include "python_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_codes.h"
#include "python_file.h"
#include "remote_memory.h"

#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/files/foreign_file.h"
#include "node-agent/files/maps_file.h"
#include "node-agent/guests/ring_outputs.h"
#include "node-agent/symbols/module_table.h"
#include "proto/stack_word.h"

#define LINE_MAX_SIZE 256
#define UNCHECKED_MAX 32u /* samples without a valid frame before the first valid one */
#define EARLY_MAX     8u  /* looks that came perhaps before the loader had finished */

struct python_process {
	const struct python_scope *scope;
	const struct ring_outputs *outputs;
	pid_t pid;
	enum python_process_state state;
	uint64_t start, inode; /* of the mapping that holds the interpreter */
	struct python_file file;
	uint64_t bias;
	struct python_codes *codes;     /* owns; NULL: not PYTHON_PROCESS_READY */
	struct python_codes *inherited; /* shares; NULL: none */
	bool checked;                   /* a code object was found valid */
	uint32_t nr_unchecked, nr_early;
};

struct python_process *python_process_create(const struct python_scope *scope,
					     const struct ring_outputs *outputs, pid_t pid)
{
	struct python_process *python = calloc(1, sizeof(*python));

	if (!python)
		return NULL;
	python->scope = scope;
	python->outputs = outputs;
	python->pid = pid;
	return python;
}

void python_process_destroy(struct python_process *python)
{
	if (!python)
		return;
	python_codes_destroy(python->codes);
	python_codes_destroy(python->inherited);
	free(python);
}

struct python_codes *python_process_codes(const struct python_process *python)
{
	return python->codes;
}

void python_process_inherit(struct python_process *python, struct python_codes *codes)
{
	python_codes_destroy(python->inherited);
	python->inherited = python_codes_share(codes);
}

enum python_process_state python_process_state(const struct python_process *python)
{
	return python->state;
}

bool python_process_is_loop(const struct python_process *python, uint64_t address)
{
	const struct unwind_stops *loop = &python->file.loop;
	uint64_t place = address - python->bias;

	for (uint32_t i = 0; i < loop->nr; i++)
		if (place - loop->ranges[i].start < loop->ranges[i].end - loop->ranges[i].start)
			return true;
	return false;
}

static void refuse(struct python_process *python, const char *reason)
{
	char line[LINE_MAX_SIZE];

	python->state = PYTHON_PROCESS_REFUSED;
	python_codes_destroy(python->codes);
	python->codes = NULL;
	snprintf(line, sizeof(line), "process %d: %s%s%s: no Python frames in its samples",
		 (int)python->pid, python->file.text, *reason ? ": " : "", reason);
	if (python->scope->notice)
		python->scope->notice(python->scope->context, line);
}

static void forget(struct python_process *python)
{
	python_codes_destroy(python->codes);
	python->codes = NULL;
	python->state = PYTHON_PROCESS_NONE;
	python->checked = false;
	python->nr_unchecked = 0;
}

/* ---- where it has its frames ---------------------------------------------------------------------- */

static bool grow(uint16_t *size, uint32_t offset, uint32_t bytes, uint32_t max)
{
	if (offset + bytes > max)
		return false;
	if (*size < offset + bytes)
		*size = (uint16_t)(offset + bytes);
	return true;
}

static bool place_frame(const struct python_layout *layout, struct sample_python *where)
{
	const uint32_t max = SAMPLE_PYTHON_FRAME_MAX;
	bool fits;

	where->code_mask = layout->code_mask;
	where->frame_code = layout->frame_code;
	where->frame_back = layout->frame_back;
	where->frame_instruction = layout->frame_instruction;
	where->frame_owner = layout->frame_owner == PYTHON_LAYOUT_NONE ? 0 : layout->frame_owner;
	where->frame_mark = layout->segment_mark == PYTHON_LAYOUT_NONE ? 0 : layout->segment_mark;
	where->instruction_size = layout->instruction == PYTHON_INSTRUCTION_POINTER ? 8 : 4;
	fits = grow(&where->frame_size, where->frame_code, 8, max);
	fits &= grow(&where->frame_size, where->frame_back, 8, max);
	fits &= grow(&where->frame_size, where->frame_instruction, where->instruction_size, max);
	fits &= grow(&where->frame_size, where->frame_owner, 1, max);
	return fits & grow(&where->frame_size, where->frame_mark, 1, max);
}

static bool place_code(const struct python_layout *layout, struct sample_python *where)
{
	const uint16_t fields[] = {layout->code_file, layout->code_qualified_name,
				   layout->code_lines, layout->code_first_line,
				   layout->code_version};
	uint16_t *const to[] = {&where->code_file, &where->code_name, &where->code_lines,
				&where->code_first_line, &where->code_version};
	const uint32_t nr = sizeof(fields) / sizeof(fields[0]);
	bool fits = true;

	where->code_low = PYTHON_LAYOUT_NONE;
	for (uint32_t i = 0; i < nr; i++)
		if (fields[i] < where->code_low)
			where->code_low = fields[i];
	for (uint32_t i = 0; i < nr; i++) {
		*to[i] = SAMPLE_PYTHON_NONE;
		if (fields[i] == PYTHON_LAYOUT_NONE)
			continue;
		*to[i] = (uint16_t)(fields[i] - where->code_low);
		fits &= grow(&where->code_size, *to[i], i < 3 ? 8 : 4, SAMPLE_PYTHON_CODE_MAX);
	}
	return fits;
}

static bool place(const struct python_process *python, struct sample_python *where)
{
	const struct python_layout *layout = &python->file.layout;

	where->interpreters = python->bias + python->file.runtime + layout->runtime_interpreters;
	where->interpreter_next = layout->interpreter_next;
	where->interpreter_threads = layout->interpreter_threads;
	where->thread_prev = layout->thread_prev;
	where->thread_next = layout->thread_next;
	where->thread_interpreter = layout->thread_interpreter;
	where->thread_id = layout->thread_id;
	where->thread_frame = layout->thread_frame;
	where->c_frame_frame = layout->c_frame_frame;
	return place_frame(layout, where) && place_code(layout, where);
}

/* ---- whether it is what its version promises --------------------------------------------------------- */

static bool read_word(const struct python_process *python, uint64_t address, uint64_t *word)
{
	return remote_memory_read(python->pid, address, word, sizeof(*word)) == 0;
}

/* Returns NULL if the data is plausible, or the interpreter does not run yet, or runs no longer. */
static const char *check_threads(const struct python_process *python,
				 const struct sample_python *where)
{
	uint64_t interpreter, thread, owner, again;

	if (!read_word(python, where->interpreters, &interpreter) || !interpreter)
		return NULL;
	int r = remote_memory_read(python->pid, interpreter + where->interpreter_threads, &thread,
				   sizeof(thread));
	if (r == -EFAULT)
		return "its interpreters are not where they should be";
	if (r || !thread)
		return NULL;
	bool found = read_word(python, thread + where->thread_interpreter, &owner) &&
		     owner == interpreter;
	/* A thread may have ended meanwhile, so the list is read again. */
	if (!found && read_word(python, interpreter + where->interpreter_threads, &again) &&
	    again == thread)
		return "its threads are not where they should be";
	return NULL;
}

#define GONE "" /* the process ends, or calls exec */

/* *final: a later look would find the same fault. */
static const char *take_offsets(struct python_process *python, bool *final)
{
	uint64_t words[PYTHON_DEBUG_OFFSETS_BYTES / sizeof(uint64_t)];

	int r = remote_memory_read(python->pid, python->bias + python->file.runtime, words,
				   sizeof(words));

	*final = r == -EPERM;
	if (r)
		return *final ? "its memory may not be read" : GONE;
	switch (python_layout_take_offsets(&python->file.layout, words)) {
	case PYTHON_OFFSETS_FREE_THREADED:
		*final = true;
		return "free-threaded build";
	case PYTHON_OFFSETS_OTHER:
		return "its _PyRuntime is not that of this version";
	case PYTHON_OFFSETS_TAKEN:
	case PYTHON_OFFSETS_ABSENT:
	default:
		return NULL;
	}
}

static const char *take(struct python_process *python, struct sample_python *where, bool *final)
{
	const struct python_file *file = &python->file;
	const struct python_types types = {.code = python->bias + file->code_type,
					   .string = python->bias + file->string_type,
					   .bytes = python->bias + file->bytes_type};
	const char *wrong = take_offsets(python, final);

	if (!wrong && !place(python, where))
		wrong = "its structures are not where they should be";
	if (!wrong)
		wrong = check_threads(python, where);
	if (!wrong) {
		python->codes =
			python_codes_create(python->outputs, python->pid, &file->layout, &types);
		wrong = python->codes ? NULL : "out of memory";
		if (python->codes)
			python_codes_inherit(python->codes, python->inherited);
		*final = true;
	}
	return wrong;
}

/* The loader maps a library before its data, so other bytes of the file are at the data's place for a while. Data that
 * begins as zeros holds the rest of the file until the loader overwrites it (glibc, elf/dl-map-segments.h). A look at
 * such a time is repeated later. */
static void take_up(struct python_process *python, struct sample_python *where)
{
	bool final = false;
	const char *wrong = take(python, where, &final);

	python->state = PYTHON_PROCESS_READY;
	if (wrong && !final && python->nr_early++ < EARLY_MAX)
		python->state = PYTHON_PROCESS_EARLY;
	else if (wrong && !*wrong)
		forget(python);
	else if (wrong)
		refuse(python, wrong);
}

/* ---- where it is mapped ----------------------------------------------------------------------------- */

static bool is_there(const struct python_process *python, const char *text, size_t size)
{
	struct maps_file_entry entry;

	return maps_file_find(text, size, python->start, &entry) && entry.start == python->start &&
	       entry.inode == python->inode;
}

/* Converts the start of a mapping, which may precede its segment on one page. */
static bool find_vaddr(struct elf_file *elf, uint64_t offset, uint64_t *vaddr)
{
	const uint64_t page = 4096;

	if (elf_file_vaddr(elf, offset, vaddr))
		return true;
	if (!elf_file_vaddr(elf, offset + page - 1, vaddr))
		return false;
	*vaddr -= page - 1;
	return true;
}

struct python_visit {
	struct foreign_file_visit visit; /* first */
	struct python_files *files;      /* owns; known files, which go to the scope afterwards */
	struct python_file file;
	uint64_t vaddr;
	bool found;
};

static void look_for_python(struct foreign_file_visit *visit, struct elf_file *elf)
{
	struct python_visit *python = (struct python_visit *)visit;
	const struct maps_file_entry *entry = &visit->entry;

	python->file = *python_files_get(python->files, elf, entry->path, entry->path_size);
	python->found = python->file.kind != PYTHON_FILE_NONE &&
			find_vaddr(elf, entry->offset, &python->vaddr);
}

static void destroy_python_visit(struct foreign_file_visit *visit)
{
	python_files_destroy(((struct python_visit *)visit)->files);
	free(visit);
}

static bool look_into(struct python_process *python, struct module_table *modules,
		      const struct maps_file_entry *entry)
{
	struct python_visit *own = calloc(1, sizeof(*own));

	if (!own)
		return false;
	struct foreign_file_visit *visit = &own->visit;
	own->files = python_files_create();
	visit->look = look_for_python;
	visit->destroy = destroy_python_visit;
	if (own->files)
		python_files_copy(own->files, python->scope->files);
	bool seen = own->files && module_table_visit(modules, entry->start, &visit) == 0;
	if (!visit)
		return false;
	bool found = seen && own->found;
	if (seen)
		python_files_copy(python->scope->files, own->files);
	if (found) {
		python->file = own->file;
		python->bias = entry->start - own->vaddr;
		python->start = entry->start;
		python->inode = entry->inode;
	}
	destroy_python_visit(visit);
	return found;
}

bool python_process_find(struct python_process *python, struct module_table *modules,
			 struct sample_python *where)
{
	struct maps_file_entry entry;
	bool known = python->state != PYTHON_PROCESS_NONE, found = false;
	bool told = known && python->state != PYTHON_PROCESS_EARLY;
	const char *text;
	size_t size;

	memset(where, 0, sizeof(*where));
	module_table_text(modules, &text, &size);
	bool same = known && is_there(python, text, size);
	if (same && told)
		return false;
	if (!same)
		python->nr_early = 0;
	if (known)
		forget(python);
	while (!found && maps_file_next(&text, &size, &entry))
		found = entry.executable && entry.path_size &&
			python_file_is_named(entry.path, entry.path_size) &&
			look_into(python, modules, &entry);
	if (!found)
		return told;
	if (python->file.kind == PYTHON_FILE_REFUSED)
		refuse(python, "");
	else
		take_up(python, where);
	if (python->state == PYTHON_PROCESS_READY)
		return true;
	memset(where, 0, sizeof(*where));
	return told;
}

/* ---- frames ------------------------------------------------------------------------------------------ */

struct walk {
	struct python_process *python;
	struct python_process_frames *to;
	uint32_t segment; /* index of its first frame */
	bool has_waiting; /* it has a frame that has not begun; shown if it has no other frame */
	bool has_code;    /* a frame ran code, even if that code could not be read */
	struct message_frame waiting;
};

static int mark(struct python_process *python, enum stack_mark which, struct message_frame *frame)
{
	const char *name = stack_word_mark_name(which);
	struct message_code code = {0};
	int r = string_dictionary_intern(python->outputs->strings, name, strlen(name), &code.name);

	*frame = (struct message_frame){.module = MESSAGE_FRAME_NO_MODULE};
	return r ? r : stack_dictionary_add_code(python->outputs->stacks, code, &frame->code);
}

static int32_t instruction_of(const struct python_layout *layout, uint64_t code,
			      const struct sample_python_frame *raw)
{
	switch ((enum python_instruction)layout->instruction) {
	case PYTHON_INSTRUCTION_BYTES:
		return (int32_t)raw->instruction;
	case PYTHON_INSTRUCTION_UNITS:
		return (int32_t)((uint32_t)raw->instruction * 2u);
	case PYTHON_INSTRUCTION_POINTER:
	default:
		return (int32_t)(raw->instruction - (code + layout->code_bytecode));
	}
}

static void put(struct walk *walk, const struct message_frame *frame)
{
	walk->to->frames[walk->to->nr] = *frame;
	walk->to->segment_end[walk->to->nr++] = false;
}

static void end_segment(struct walk *walk)
{
	struct python_process_frames *to = walk->to;

	if (to->nr == walk->segment && walk->has_waiting)
		put(walk, &walk->waiting);
	if (to->nr > walk->segment)
		to->segment_end[to->nr - 1] = true;
	walk->segment = to->nr;
	walk->has_waiting = false;
}

/* Returns -EPROTO if the bytes are not a frame. */
static int add_frame(struct walk *walk, const struct sample_python_frame *raw, unsigned owner)
{
	struct python_process *python = walk->python;
	const struct python_layout *layout = &python->file.layout;
	uint64_t address = raw->code & SAMPLE_PYTHON_CODE;
	int32_t instruction = instruction_of(layout, address, raw);
	const struct python_code *code;
	struct message_frame frame;
	int r = python_codes_find(python->codes, address, raw->identity, &code);

	bool had_code = raw->identity && r != -EPROTO;
	walk->has_code |= r == 0 || had_code;
	walk->to->by_address |= r == 0 && raw->identity == 0;
	/* If the kernel's half saw no code either, an earlier look would not have helped. */
	if (r == -ESTALE && had_code && python->scope->missed)
		python->scope->missed(python->scope->context);
	if (r == 0) {
		python->checked = true;
		python_code_frame(python->codes, code, instruction, &frame);
		/* The interpreter's own rule (_PyFrame_IsIncomplete in pycore_frame.h): a generator's frame has always
		 * begun. */
		if (layout->code_first_traceable != PYTHON_LAYOUT_NONE &&
		    owner != PYTHON_OWNER_GENERATOR && instruction < python_code_first(code)) {
			if (!walk->has_waiting)
				walk->waiting = frame;
			walk->has_waiting = true;
			return 0;
		}
	} else if (r == -ENOMEM || !python->checked) {
		return r == -ESTALE ? -EPROTO : r;
	} else {
		walk->to->unread = true;
		r = mark(python, r == -ENOSPC ? STACK_MARK_CODE_TABLE_FULL : STACK_MARK_MISSING,
			 &frame);
		if (r)
			return r;
	}
	put(walk, &frame);
	return 0;
}

static int walk_frame(struct walk *walk, const struct sample_python_frame *raw)
{
	const struct python_layout *layout = &walk->python->file.layout;
	unsigned high = (unsigned)(raw->code >> SAMPLE_PYTHON_CODE_BITS);
	unsigned owner = high & ((1u << SAMPLE_PYTHON_OWNER) - 1), at = high >> SAMPLE_PYTHON_OWNER;

	if (layout->segment == PYTHON_SEGMENT_SHIM && at >= layout->shim_owner) {
		end_segment(walk);
		return 0;
	}
	int r = add_frame(walk, raw, owner);
	if (r == 0 && (layout->segment == PYTHON_SEGMENT_EVERY ||
		       (layout->segment == PYTHON_SEGMENT_ENTRY && at != 0)))
		end_segment(walk);
	return r;
}

/* Returns whether too many samples made no sense, and none ever did. */
static bool gives_up(struct python_process *python, int error)
{
	return !python->checked && error == -EPROTO && ++python->nr_unchecked >= UNCHECKED_MAX;
}

int python_process_frames(struct python_process *python, const struct sample_python_frame *raw,
			  uint32_t nr_raw, struct python_process_frames *frames, bool *refused)
{
	struct walk walk = {.python = python, .to = frames};
	int r = 0;

	frames->nr = 0;
	frames->unread = frames->by_address = false;
	*refused = false;
	if (python->state != PYTHON_PROCESS_READY)
		return 0;
	for (uint32_t i = 0; i < nr_raw && i < SAMPLE_PYTHON_DEPTH && r == 0; i++)
		r = walk_frame(&walk, &raw[i]);
	/* In CPython 3.11 and 3.12 a thread that enters a loop sets its C frame first. Some instructions later the C
	 * frame points to a Python frame. Until then it points to whatever the stack held. */
	if (r == 0 && (walk.has_code || !frames->unread))
		return 0;
	frames->nr = 0;
	frames->unread = true;
	if (gives_up(python, r)) {
		refuse(python, "its frames are not where they should be");
		*refused = true;
	}
	return r == -ENOMEM ? r : 0;
}
