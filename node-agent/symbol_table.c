#include "symbol_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"

#define NO_SYMBOL UINT32_MAX

struct symbol {
	uint64_t start, end; /* end exclusive, at least start + 1 */
	uint32_t name;       /* offset in names */
	uint32_t outer;      /* index of the nearest symbol around this one, or NO_SYMBOL */
	uint8_t binding;
};

struct symbol_table {
	struct symbol *symbols; /* owns */
	uint32_t count, max;
	char *names; /* owns; NUL between them */
	size_t names_size, names_max;
};

void symbol_table_destroy(struct symbol_table *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->names);
	free(table);
}

static int reserve(struct symbol_table *table, size_t name_size)
{
	if (table->count == table->max) {
		uint32_t max = table->max ? table->max * 2 : 1024;
		struct symbol *symbols = realloc(table->symbols, max * sizeof(*symbols));

		if (!symbols)
			return -ENOMEM;
		table->symbols = symbols;
		table->max = max;
	}
	if (table->names_max - table->names_size < name_size) {
		size_t max = table->names_max * 2 + name_size + 4096;
		char *names = max > UINT32_MAX ? NULL : realloc(table->names, max);

		if (!names)
			return -ENOMEM;
		table->names = names;
		table->names_max = max;
	}
	return 0;
}

static int add(void *context, const struct elf_file_function *function)
{
	struct symbol_table *table = context;
	size_t length = strcspn(function->name, "@"); /* name@@VERSION, or name@VERSION */
	uint64_t size = function->size ? function->size : 1;

	if (length == 0)
		return 0;
	int r = reserve(table, length + 1);
	if (r)
		return r;
	table->symbols[table->count++] = (struct symbol){
		.start = function->start,
		.end = function->start + size < size ? UINT64_MAX : function->start + size,
		.name = (uint32_t)table->names_size,
		.outer = NO_SYMBOL,
		.binding = function->binding,
	};
	memcpy(table->names + table->names_size, function->name, length);
	table->names[table->names_size + length] = '\0';
	table->names_size += length + 1;
	return 0;
}

/* By address; among aliases the best name first, so that the choice never depends on the order in
 * the file. */
static int compare(const void *left, const void *right, void *context)
{
	const struct symbol *a = left, *b = right;
	const char *names = context;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (a->binding != b->binding)
		return a->binding < b->binding ? -1 : 1;

	const char *a_name = names + a->name, *b_name = names + b->name;
	size_t a_underscores = strspn(a_name, "_"), b_underscores = strspn(b_name, "_");
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	return strcmp(a_name, b_name);
}

/* Drops aliases and links each symbol to the one around it. */
static void link_symbols(struct symbol_table *table)
{
	uint32_t kept = 0, open = NO_SYMBOL;

	for (uint32_t i = 0; i < table->count; i++) {
		struct symbol symbol = table->symbols[i];

		if (kept > 0 && table->symbols[kept - 1].start == symbol.start)
			continue;
		while (open != NO_SYMBOL && table->symbols[open].end <= symbol.start)
			open = table->symbols[open].outer;
		symbol.outer = open;
		open = kept;
		table->symbols[kept++] = symbol;
	}
	table->count = kept;
}

int symbol_table_create(struct elf_file *file, struct symbol_table **table)
{
	struct symbol_table *new_table = calloc(1, sizeof(*new_table));

	*table = NULL;
	if (!new_table)
		return -ENOMEM;
	int r = elf_file_each_function(file, add, new_table);
	if (r == 0 && new_table->count == 0)
		r = -ENOENT;
	if (r) {
		symbol_table_destroy(new_table);
		return r;
	}
	qsort_r(new_table->symbols, new_table->count, sizeof(*new_table->symbols), compare,
		new_table->names);
	link_symbols(new_table);
	*table = new_table;
	return 0;
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr)
{
	uint32_t low = 0, high = table->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->symbols[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t found = low ? low - 1 : NO_SYMBOL;
	while (found != NO_SYMBOL && table->symbols[found].end <= vaddr)
		found = table->symbols[found].outer;
	return found == NO_SYMBOL ? NULL : table->names + table->symbols[found].name;
}

uint32_t symbol_table_count(const struct symbol_table *table)
{
	return table->count;
}
