#include "cubin_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cubin_targets.h"
#include "unwind/dwarf_reader.h"

/* Opcodes: DWARF 4, chapter 6.2.5; the extended ones from 0x90 on are NVIDIA's. */
enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC = 2,
	LNS_ADVANCE_LINE = 3,
	LNS_SET_FILE = 4,
	LNS_SET_COLUMN = 5,
	LNS_NEGATE_STATEMENT = 6,
	LNS_BASIC_BLOCK = 7,
	LNS_CONST_ADD_PC = 8,
	LNS_FIXED_ADVANCE_PC = 9,
	LNE_END_SEQUENCE = 0x01,
	LNE_SET_ADDRESS = 0x02,
	LNE_DEFINE_FILE = 0x03,
	LNE_INLINED_CALL = 0x90,
	LNE_SET_FUNCTION_NAME = 0x91,
};

struct unit {
	const uint8_t *operands; /* of the standard opcodes from 1 on: how many numbers each has */
	uint32_t first_file;     /* index in the rows' files */
	uint32_t strings;        /* offset in .debug_str; CUBIN_NAME_NONE: it has none */
	uint32_t minimum, range; /* bytes of an instruction; lines of a special opcode */
	int32_t base;
	uint32_t opcode_base;
};

/* The registers of the line program. */
struct state {
	uint64_t address;
	uint32_t section; /* 0: not known */
	uint32_t file, line, caller, name;
	uint32_t first_row; /* of the sequence */
};

struct table {
	struct cubin_rows *rows;
	const uint8_t *bytes;
	uint64_t size;
	const struct cubin_targets *targets;
	uint32_t *directories; /* owns; of the unit */
	uint32_t nr_directories, room_directories;
};

static const struct state start_of_sequence = {
	.file = 1,
	.line = 1,
	.name = CUBIN_NAME_NONE,
};

/* ---- rows */

static int add_place(struct cubin_rows *rows, const struct state *state, uint32_t row)
{
	if (state->section == 0)
		return 0;
	if (rows->nr_places == CUBIN_ROWS_MAX)
		return -EBADMSG;
	if (array_reserve(&rows->places, &rows->room_places, rows->nr_places + 1ull,
			  sizeof(*rows->places)))
		return -ENOMEM;
	rows->places[rows->nr_places++] = (struct cubin_place){
		.address = state->address,
		.section = state->section,
		.row = row,
	};
	return 0;
}

static int add_row(struct cubin_rows *rows, const struct unit *unit, const struct state *state)
{
	const bool is_file = state->file > 0 && state->file <= rows->nr_files - unit->first_file;
	/* A caller comes before: rows that call themselves, or each other, would be a chain without an end. */
	const bool is_called =
		state->caller > 0 && state->caller <= rows->nr_rows - state->first_row;

	if (rows->nr_rows == CUBIN_ROWS_MAX)
		return -EBADMSG;
	if (array_reserve(&rows->rows, &rows->room_rows, rows->nr_rows + 1ull, sizeof(*rows->rows)))
		return -ENOMEM;
	struct cubin_row row = {
		.file = is_file ? unit->first_file + state->file : 0,
		.line = state->line,
		.caller = is_called ? state->first_row + state->caller : 0,
		.name = is_called ? state->name : CUBIN_NAME_NONE,
	};
	rows->has_names = rows->has_names || row.name != CUBIN_NAME_NONE;
	rows->rows[rows->nr_rows++] = row;
	return add_place(rows, state, rows->nr_rows - 1);
}

static int end_sequence(struct cubin_rows *rows, struct state *state)
{
	int error = add_place(rows, state, CUBIN_ROW_END);

	*state = start_of_sequence;
	state->first_row = rows->nr_rows;
	return error;
}

/* ---- texts of the header */

/* Reads a text that ends in a NUL. Returns its offset in the table; 0: the text is empty, or it has no end and the
 * reader fails. No text of a header lies at offset 0. */
static uint32_t read_text(const struct table *table, struct dwarf_reader *reader)
{
	const uint8_t *text = reader->at;
	size_t left = dwarf_reader_left(reader);
	const uint8_t *end = left ? memchr(text, '\0', left) : NULL;

	dwarf_reader_bytes(reader, end ? (uint64_t)(end - text) + 1 : left + 1ull);
	return end && end > text ? (uint32_t)(text - table->bytes) : 0;
}

static int read_directories(struct table *table, struct dwarf_reader *header)
{
	uint32_t text;

	table->nr_directories = 0;
	while ((text = read_text(table, header))) {
		if (table->nr_directories == CUBIN_FILES_MAX)
			return -EBADMSG;
		if (array_reserve(&table->directories, &table->room_directories,
				  table->nr_directories + 1ull, sizeof(*table->directories)))
			return -ENOMEM;
		table->directories[table->nr_directories++] = text;
	}
	return header->failed ? -EBADMSG : 0;
}

/* The directory of a file is a number from 1 on; 0 is that of the compilation, which the table does not have. */
static int add_file(struct table *table, struct dwarf_reader *reader, uint32_t name)
{
	struct cubin_rows *rows = table->rows;
	uint64_t directory = dwarf_reader_uleb(reader);
	bool is_known = directory > 0 && directory <= table->nr_directories;

	dwarf_reader_uleb(reader); /* time of change */
	dwarf_reader_uleb(reader); /* size */
	if (reader->failed || rows->nr_files == CUBIN_FILES_MAX)
		return -EBADMSG;
	if (array_reserve(&rows->files, &rows->room_files, rows->nr_files + 1ull,
			  sizeof(*rows->files)))
		return -ENOMEM;
	rows->files[rows->nr_files++] = (struct cubin_file){
		.name = name,
		.directory = is_known ? table->directories[directory - 1] : 0,
	};
	return 0;
}

static int read_files(struct table *table, struct unit *unit, struct dwarf_reader *header)
{
	uint32_t name;
	int error = 0;

	unit->first_file = table->rows->nr_files;
	while (!error && (name = read_text(table, header)))
		error = add_file(table, header, name);
	return header->failed ? -EBADMSG : error;
}

/* ---- the program */

static int set_address(const struct table *table, struct dwarf_reader *operands,
		       struct state *state)
{
	size_t size = dwarf_reader_left(operands);
	const struct cubin_target *target =
		cubin_targets_find(table->targets, (uint64_t)(operands->at - table->bytes));

	if (size != 4 && size != 8)
		return -EBADMSG;
	uint64_t address = dwarf_reader_unsigned(operands, (uint32_t)size);
	state->section = target ? target->section : 0;
	state->address = target ? target->addend + (target->keeps ? address : 0) : address;
	return 0;
}

/* Numbers beyond 32 bits are no row and no name. */
static uint32_t read_number(struct dwarf_reader *operands, uint32_t beyond)
{
	uint64_t number = dwarf_reader_uleb(operands);

	return number < UINT32_MAX ? (uint32_t)number : beyond;
}

static int run_extended(struct table *table, struct dwarf_reader *program, struct state *state)
{
	uint64_t size = dwarf_reader_uleb(program);
	const uint8_t *bytes = dwarf_reader_bytes(program, size);
	int error = 0;

	if (!bytes || size == 0)
		return -EBADMSG;
	struct dwarf_reader operands = dwarf_reader_on(bytes, size, 0);
	switch (dwarf_reader_u8(&operands)) {
	case LNE_END_SEQUENCE:
		error = end_sequence(table->rows, state);
		break;
	case LNE_SET_ADDRESS:
		error = set_address(table, &operands, state);
		break;
	case LNE_DEFINE_FILE: {
		uint32_t name = read_text(table, &operands);

		error = operands.failed ? -EBADMSG : add_file(table, &operands, name);
		break;
	}
	case LNE_INLINED_CALL:
		state->caller = read_number(&operands, UINT32_MAX);
		state->name = read_number(&operands, CUBIN_NAME_NONE);
		break;
	case LNE_SET_FUNCTION_NAME:
		state->name = read_number(&operands, CUBIN_NAME_NONE);
		break;
	}
	return operands.failed ? -EBADMSG : error;
}

static void run_standard(const struct unit *unit, struct dwarf_reader *program, struct state *state,
			 uint32_t opcode)
{
	switch (opcode) {
	case LNS_ADVANCE_PC:
		state->address += dwarf_reader_uleb(program) * unit->minimum;
		break;
	case LNS_ADVANCE_LINE:
		state->line += (uint32_t)dwarf_reader_sleb(program);
		break;
	case LNS_SET_FILE:
		state->file = read_number(program, 0);
		break;
	case LNS_CONST_ADD_PC:
		state->address += (255 - unit->opcode_base) / unit->range * unit->minimum;
		break;
	case LNS_FIXED_ADVANCE_PC:
		state->address += dwarf_reader_unsigned(program, 2);
		break;
	default: /* columns, statements, blocks, and what newer versions have */
		for (uint32_t i = 0; i < unit->operands[opcode - 1]; i++)
			dwarf_reader_uleb(program);
	}
}

static int run_special(struct cubin_rows *rows, const struct unit *unit, struct state *state,
		       uint32_t opcode)
{
	uint32_t step = opcode - unit->opcode_base;

	state->address += (uint64_t)(step / unit->range) * unit->minimum;
	state->line += (uint32_t)(unit->base + (int32_t)(step % unit->range));
	return add_row(rows, unit, state);
}

static int run_program(struct table *table, const struct unit *unit, struct dwarf_reader *program)
{
	struct state state = start_of_sequence;
	int error = 0;

	state.first_row = table->rows->nr_rows;
	while (!error && dwarf_reader_left(program) > 0) {
		uint32_t opcode = dwarf_reader_u8(program);

		if (opcode >= unit->opcode_base)
			error = run_special(table->rows, unit, &state, opcode);
		else if (opcode == 0)
			error = run_extended(table, program, &state);
		else if (opcode == LNS_COPY)
			error = add_row(table->rows, unit, &state);
		else
			run_standard(unit, program, &state, opcode);
	}
	if (error)
		return error;
	return program->failed ? -EBADMSG : 0;
}

/* ---- units */

/* Reads the header from behind its length on. */
static int read_header(struct table *table, struct unit *unit, struct dwarf_reader *header,
		       uint32_t version)
{
	unit->minimum = dwarf_reader_u8(header);
	if (version >= 4)
		dwarf_reader_u8(header); /* operations of an instruction */
	dwarf_reader_u8(header);         /* whether rows are statements at first */
	unit->base = (int8_t)dwarf_reader_u8(header);
	unit->range = dwarf_reader_u8(header);
	unit->opcode_base = dwarf_reader_u8(header);
	if (header->failed || unit->range == 0 || unit->opcode_base == 0)
		return -EBADMSG;
	unit->operands = dwarf_reader_bytes(header, unit->opcode_base - 1u);
	if (!unit->operands)
		return -EBADMSG;
	int error = read_directories(table, header);
	if (!error)
		error = read_files(table, unit, header);
	unit->strings = dwarf_reader_left(header) < sizeof(uint32_t)
				? CUBIN_NAME_NONE
				: (uint32_t)dwarf_reader_unsigned(header, sizeof(uint32_t));
	return error;
}

static int add_unit(struct cubin_rows *rows, const struct unit *unit)
{
	if (array_reserve(&rows->units, &rows->room_units, rows->nr_units + 1ull,
			  sizeof(*rows->units)))
		return -ENOMEM;
	rows->units[rows->nr_units++] = (struct cubin_unit){
		.first_row = rows->nr_rows,
		.strings = unit->strings,
	};
	return 0;
}

static int read_unit(struct table *table, struct dwarf_reader *bytes)
{
	uint32_t version = (uint32_t)dwarf_reader_unsigned(bytes, 2);

	if (version < 2 || version > 4)
		return bytes->failed ? -EBADMSG : 0;
	uint64_t size = dwarf_reader_unsigned(bytes, 4);
	const uint8_t *start = dwarf_reader_bytes(bytes, size);
	struct unit unit = {0};
	if (!start)
		return -EBADMSG;
	struct dwarf_reader header = dwarf_reader_on(start, size, 0);
	int error = read_header(table, &unit, &header, version);
	if (!error)
		error = add_unit(table->rows, &unit);
	return error ? error : run_program(table, &unit, bytes);
}

static int read_units(struct table *table)
{
	struct dwarf_reader reader = dwarf_reader_on(table->bytes, table->size, 0);
	int error = 0;

	while (!error && dwarf_reader_left(&reader) > 0) {
		uint64_t size = dwarf_reader_unsigned(&reader, 4);
		const uint8_t *bytes = dwarf_reader_bytes(&reader, size);

		if (!bytes)
			return -EBADMSG;
		struct dwarf_reader unit = dwarf_reader_on(bytes, size, 0);
		error = read_unit(table, &unit);
	}
	return error;
}

/* ---- order */

/* Where one sequence ends and another begins, the row comes last. */
static int compare_place(const void *a, const void *b)
{
	const struct cubin_place *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	uint32_t of_x = x->row + 1, of_y = y->row + 1; /* an end becomes 0 */
	return of_x < of_y ? -1 : of_x > of_y;
}

static void sort_places(struct cubin_rows *rows)
{
	bool is_sorted = true;

	for (uint32_t i = 1; i < rows->nr_places && is_sorted; i++)
		is_sorted = compare_place(&rows->places[i - 1], &rows->places[i]) < 0;
	if (!is_sorted)
		qsort(rows->places, rows->nr_places, sizeof(*rows->places), compare_place);
}

/* The arrays grew by doubling, and stay for the life of a process. */
static void trim(struct cubin_rows *rows)
{
	struct cubin_row *fewer = realloc(rows->rows, (rows->nr_rows + 1ul) * sizeof(*fewer));
	struct cubin_place *places =
		realloc(rows->places, (rows->nr_places + 1ul) * sizeof(*places));

	if (fewer) {
		rows->rows = fewer;
		rows->room_rows = rows->nr_rows + 1;
	}
	if (places) {
		rows->places = places;
		rows->room_places = rows->nr_places + 1;
	}
}

int cubin_rows_init(struct cubin_rows *rows, const struct cubin_image *image,
		    const struct cubin_section *section, const struct cubin_targets *targets)
{
	struct table table = {
		.rows = rows,
		.bytes = image->data + section->offset,
		.size = section->size,
		.targets = targets,
	};

	if (section->size > UINT32_MAX)
		return -EBADMSG;
	int error = read_units(&table);
	free(table.directories);
	if (error)
		return error;
	sort_places(rows);
	trim(rows);
	return rows->nr_units ? 0 : -ENODATA;
}

void cubin_rows_fini(struct cubin_rows *rows)
{
	free(rows->rows);
	free(rows->places);
	free(rows->files);
	free(rows->units);
	*rows = (struct cubin_rows){0};
}
