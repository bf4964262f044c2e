#include "inline_frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "node-agent/files/elf_file.h"

#define DWARF_SIZE_MAX (1ull << 30)
#define UNITS_MAX      (1u << 20)
#define RANGES_MAX     (1u << 22) /* of one list; also ends indexing if all lists hold more */
#define ENTRIES_MAX    (1u << 22) /* looked at in one unit */
#define DEPTH_MAX      256u       /* nesting of entries */
#define CHAIN_MAX      64u        /* functions at one address */
#define NONE           UINT32_MAX

/* Addresses of a unit, or of a function in it. */
struct range {
	uint64_t start, end; /* end exclusive */
	uint32_t owner;
	uint32_t outer; /* index of the nearest range around this range, or NONE */
};

struct range_list {
	struct range *ranges; /* owns; sorted by start once arranged */
	uint32_t count;
};

struct function {
	Dwarf_Off offset; /* of its entry */
	uint32_t caller;  /* index of the function that contains this inlined one, or NONE */
};

struct unit {
	Dwarf_Off offset;           /* of its first entry */
	struct function *functions; /* owns */
	uint32_t nr_functions, max_functions;
	struct range_list code;
	bool indexed;
};

struct inline_frames {
	Dwarf *dwarf;
	struct elf_file *shared; /* owns; NULL: no shared file */
	Dwarf *shared_dwarf;
	struct unit *units; /* owns */
	uint32_t nr_units, max_units;
	struct range_list code;
	uint64_t nr_ranges; /* of all units that were indexed */
};

/* ---- ranges ------------------------------------------------------------------------------------ */

static int add_range(struct range_list *list, uint64_t start, uint64_t end, uint32_t owner)
{
	if (start >= end)
		return 0;
	if (list->count == RANGES_MAX)
		return -EFBIG;
	return array_append(&list->ranges, &list->count, &(struct range){start, end, owner, NONE},
			    sizeof(struct range));
}

static int add_ranges(struct range_list *list, Dwarf_Die *entry, uint32_t owner)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	int r = 0;

	while (r == 0 && (next = dwarf_ranges(entry, next, &base, &start, &end)) > 0)
		r = add_range(list, start, end, owner);
	return r;
}

/* Of two equal ranges, the range that was found first lies around the second. */
static int compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static void arrange(struct range_list *list)
{
	uint32_t open = NONE;

	if (list->count > 0)
		qsort(list->ranges, list->count, sizeof(*list->ranges), compare);
	for (uint32_t i = 0; i < list->count; i++) {
		struct range *range = &list->ranges[i];

		while (open != NONE && list->ranges[open].end <= range->start)
			open = list->ranges[open].outer;
		range->outer = open;
		open = i;
	}
}

static uint32_t find_owner(const struct range_list *list, uint64_t vaddr)
{
	uint32_t low = 0, high = list->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list->ranges[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t found = low ? low - 1 : NONE;
	while (found != NONE && list->ranges[found].end <= vaddr)
		found = list->ranges[found].outer;
	return found == NONE ? NONE : list->ranges[found].owner;
}

/* ---- units ------------------------------------------------------------------------------------- */

static int add_unit(struct inline_frames *frames, Dwarf_Die *entry)
{
	if (frames->nr_units == UNITS_MAX)
		return -EFBIG;
	if (array_reserve(&frames->units, &frames->max_units, frames->nr_units + 1,
			  sizeof(*frames->units)))
		return -ENOMEM;
	frames->units[frames->nr_units] = (struct unit){.offset = dwarf_dieoffset(entry)};
	return add_ranges(&frames->code, entry, frames->nr_units++);
}

/* With -gsplit-dwarf, a unit's contents are in another file, but its lines are here. The other file is not opened: the
 * unit may give any name, a file of that name may block, and this process may be root's. */
static bool has_lines(Dwarf_Die *entry)
{
	int tag = dwarf_tag(entry);

	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

/* Reads the units themselves, since not every compiler writes .debug_aranges. */
static int add_units(struct inline_frames *frames)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die entry;
	int r = 0;

	while (r == 0 &&
	       dwarf_get_units(frames->dwarf, unit, &unit, &version, &type, &entry, NULL) == 0)
		if (has_lines(&entry))
			r = add_unit(frames, &entry);
	if (r == 0 && frames->code.count == 0)
		r = -ENOENT;
	arrange(&frames->code);
	return r;
}

/* libdw up to at least 0.188 reads past a section whose last string has no end. libdw has decompressed the section. */
static bool strings_end(struct elf_file *file)
{
	static const char *const sections[] = {".debug_str", ".debug_line_str"};

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const void *data;
		size_t size;

		if (elf_file_section(file, sections[i], DWARF_SIZE_MAX, &data, &size) &&
		    ((const char *)data)[size - 1] != '\0')
			return false;
	}
	return true;
}

/* libdw would open any path that the file names, even a device or FIFO, with our rights. */
static bool find_shared(struct inline_frames *frames, inline_frames_shared shared, void *context)
{
	const char *name;
	const void *build_id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(frames->dwarf, &name, &build_id);

	if (size <= 0)
		return true;
	if (!shared || shared(context, build_id, (uint32_t)size, &frames->shared))
		return false;
	frames->shared_dwarf =
		elf_file_dwarf_size(frames->shared) <= DWARF_SIZE_MAX && strings_end(frames->shared)
			? dwarf_begin_elf(elf_file_handle(frames->shared), DWARF_C_READ, NULL)
			: NULL;
	if (!frames->shared_dwarf ||
	    dwelf_dwarf_gnu_debugaltlink(frames->shared_dwarf, &name, &build_id) > 0)
		return false;
	dwarf_setalt(frames->dwarf, frames->shared_dwarf);
	return true;
}

int inline_frames_create(struct elf_file *file, inline_frames_shared shared, void *context,
			 struct inline_frames **frames)
{
	*frames = NULL;
	if (!elf_file_has_dwarf(file))
		return -ENOENT;
	if (elf_file_dwarf_size(file) > DWARF_SIZE_MAX)
		return -EFBIG;
	struct inline_frames *new_frames = calloc(1, sizeof(*new_frames));
	if (!new_frames)
		return -ENOMEM;
	new_frames->dwarf = dwarf_begin_elf(elf_file_handle(file), DWARF_C_READ, NULL);
	int r = new_frames->dwarf && strings_end(file) && find_shared(new_frames, shared, context)
			? add_units(new_frames)
			: -ENOENT;
	if (r) {
		inline_frames_destroy(new_frames);
		return r;
	}
	*frames = new_frames;
	return 0;
}

void inline_frames_destroy(struct inline_frames *frames)
{
	if (!frames)
		return;
	for (uint32_t i = 0; i < frames->nr_units; i++) {
		free(frames->units[i].functions);
		free(frames->units[i].code.ranges);
	}
	free(frames->units);
	free(frames->code.ranges);
	dwarf_end(frames->dwarf);
	dwarf_end(frames->shared_dwarf);
	elf_file_close(frames->shared);
	free(frames);
}

/* ---- functions of a unit ----------------------------------------------------------------------- */

/* The place of the walk: the entries around the current entry, and the function that holds each of them. */
struct walk {
	Dwarf_Die entries[DEPTH_MAX];
	uint32_t functions[DEPTH_MAX];
	uint32_t depth;
};

static bool is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool may_hold_functions(int tag)
{
	return tag != DW_TAG_enumeration_type && tag != DW_TAG_array_type &&
	       tag != DW_TAG_subroutine_type && tag != DW_TAG_formal_parameter &&
	       tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site;
}

/* *function is the function around the entry. If the entry is a function with code, *function becomes that. */
static int add_function(struct unit *unit, Dwarf_Die *entry, int tag, uint32_t *function)
{
	uint32_t before = unit->code.count;

	if (!is_function(tag))
		return 0;
	if (array_reserve(&unit->functions, &unit->max_functions, unit->nr_functions + 1,
			  sizeof(*unit->functions)))
		return -ENOMEM;
	int r = add_ranges(&unit->code, entry, unit->nr_functions);
	if (r || unit->code.count == before)
		return r;
	unit->functions[unit->nr_functions] = (struct function){
		.offset = dwarf_dieoffset(entry),
		.caller = tag == DW_TAG_inlined_subroutine ? *function : NONE,
	};
	*function = unit->nr_functions++;
	return 0;
}

/* Goes to the next entry at this level or further out. Returns false after the last entry. */
static bool go_on(struct walk *walk)
{
	while (walk->depth > 0) {
		Dwarf_Die *entry = &walk->entries[walk->depth];

		if (dwarf_siblingof(entry, entry) == 0) {
			walk->functions[walk->depth] = walk->functions[walk->depth - 1];
			return true;
		}
		walk->depth--;
	}
	return false;
}

static bool go_in(struct walk *walk, int tag)
{
	uint32_t depth = walk->depth;

	if (depth + 1 == DEPTH_MAX || !may_hold_functions(tag) ||
	    dwarf_child(&walk->entries[depth], &walk->entries[depth + 1]) != 0)
		return false;
	walk->functions[depth + 1] = walk->functions[depth];
	walk->depth++;
	return true;
}

/* If a unit is too large or damaged, the part that could be read is used. */
static void index_unit(struct inline_frames *frames, struct unit *unit)
{
	struct walk *walk = malloc(sizeof(*walk));
	uint32_t nr_entries = 0;
	bool more = walk && dwarf_offdie(frames->dwarf, unit->offset, &walk->entries[0]);

	unit->indexed = true;
	if (more) {
		walk->depth = 0;
		walk->functions[0] = NONE;
	}
	while (more && nr_entries++ < ENTRIES_MAX) {
		Dwarf_Die *entry = &walk->entries[walk->depth];
		int tag = dwarf_tag(entry);

		if (add_function(unit, entry, tag, &walk->functions[walk->depth]))
			break;
		more = go_in(walk, tag) || go_on(walk);
	}
	free(walk);
	arrange(&unit->code);
	frames->nr_ranges += unit->code.count;
}

/* ---- one address ------------------------------------------------------------------------------- */

/* Text that is cut at the beginning of a function when it gets too long. */
struct writer {
	char *text;
	size_t used, max;
};

static void copy(char *to, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (unsigned char)from[i] < ' ' ? '?' : from[i];
}

/* Returns false if the text has no room. line 0: not known. */
static bool write_function(struct writer *writer, const char *name, const char *file, int line)
{
	char number[16] = "";
	size_t name_size = strlen(name), file_size = file && line > 0 ? strlen(file) : 0;

	if (file_size > 0)
		snprintf(number, sizeof(number), ":%d", line);
	size_t number_size = strlen(number);
	size_t size = (writer->used > 0) + name_size + (file_size > 0) + file_size + number_size;
	if (writer->max - writer->used <= size)
		return false;
	char *at = writer->text + writer->used;
	if (writer->used > 0)
		*at++ = '\n';
	copy(at, name, name_size);
	at += name_size;
	if (file_size > 0) {
		*at++ = '\t';
		copy(at, file, file_size);
		at += file_size;
		memcpy(at, number, number_size);
		at += number_size;
	}
	*at = '\0';
	writer->used += size;
	return true;
}

static const char *name_of(Dwarf_Die *entry)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(entry, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(entry, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name)
		name = dwarf_diename(entry);
	return name && *name ? name : "??";
}

static const char *call_of(Dwarf_Die *unit, Dwarf_Die *inlined, int *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file = 0, number = 0;
	Dwarf_Files *files;
	size_t nr_files;

	*line = 0;
	if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) ||
	    dwarf_formudata(&attribute, &file) ||
	    !dwarf_attr(inlined, DW_AT_call_line, &attribute) ||
	    dwarf_formudata(&attribute, &number) || number > INT32_MAX ||
	    dwarf_getsrcfiles(unit, &files, &nr_files) || file >= nr_files)
		return NULL;
	*line = (int)number;
	return dwarf_filesrc(files, file, NULL, NULL);
}

static const char *line_of(Dwarf_Die *unit, uint64_t vaddr, int *line)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, vaddr);

	*line = 0;
	if (!row || dwarf_lineno(row, line))
		return NULL;
	return dwarf_linesrc(row, NULL, NULL);
}

/* Finds the functions at an address, innermost first, and returns their number. */
static uint32_t find_chain(const struct unit *unit, uint64_t vaddr, uint32_t chain[CHAIN_MAX])
{
	uint32_t function = find_owner(&unit->code, vaddr), nr = 0;

	for (; function != NONE && nr < CHAIN_MAX; function = unit->functions[function].caller)
		chain[nr++] = function;
	return nr;
}

static void write_chain(struct inline_frames *frames, const struct unit *unit, Dwarf_Die *entry,
			uint64_t vaddr, const char *outermost, struct writer *writer)
{
	uint32_t chain[CHAIN_MAX], nr = find_chain(unit, vaddr, chain);
	Dwarf_Die inner, outer;
	const char *file;
	bool room = true;
	int line;

	if (nr == 0) {
		file = line_of(entry, vaddr, &line);
		if (outermost && file)
			write_function(writer, outermost, file, line);
		return;
	}
	if (!dwarf_offdie(frames->dwarf, unit->functions[chain[nr - 1]].offset, &outer))
		return;
	for (uint32_t i = nr; i-- > 0 && room; outer = inner) {
		const char *name = i == nr - 1 && outermost ? outermost : name_of(&outer);

		if (i > 0 &&
		    !dwarf_offdie(frames->dwarf, unit->functions[chain[i - 1]].offset, &inner))
			return;
		file = i > 0 ? call_of(entry, &inner, &line) : line_of(entry, vaddr, &line);
		room = write_function(writer, name, file, line);
	}
}

size_t inline_frames_describe(struct inline_frames *frames, uint64_t vaddr, const char *outermost,
			      char *text, size_t max)
{
	struct writer writer = {.text = text, .max = max};
	uint32_t owner = find_owner(&frames->code, vaddr);
	Dwarf_Die entry;

	if (max > 0)
		*text = '\0';
	if (owner == NONE || max == 0)
		return 0;
	struct unit *unit = &frames->units[owner];
	if (!dwarf_offdie(frames->dwarf, unit->offset, &entry))
		return 0;
	if (!unit->indexed && frames->nr_ranges < RANGES_MAX)
		index_unit(frames, unit);
	write_chain(frames, unit, &entry, vaddr, outermost, &writer);
	return writer.used;
}
