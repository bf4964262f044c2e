#include "symbol_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "node-agent/files/elf_file.h"

#define NO_SYMBOL       SYMBOL_TABLE_NO_SYMBOL
#define NAME_LENGTH_MAX 65535u
#define NAMES_SIZE_MAX  (512u << 20) /* symbols may share one long name in the file, not here */

struct symbol_table {
	struct symbol_table_symbol *symbols; /* owns, unless memory is set; while building, outer
						is the binding */
	uint32_t count, max;
	char *names; /* owns, unless memory is set */
	uint32_t names_size, names_max;
	void *memory; /* owns; holds the content of a restored table */
};

void symbol_table_destroy(struct symbol_table *table)
{
	if (!table)
		return;
	if (!table->memory) {
		free(table->symbols);
		free(table->names);
	}
	free(table->memory);
	free(table);
}

static int reserve(struct symbol_table *table, uint32_t name_size)
{
	uint32_t need = table->names_size + name_size;

	if (need > NAMES_SIZE_MAX)
		return -EFBIG;
	if (array_reserve(&table->symbols, &table->max, table->count + 1, sizeof(*table->symbols)))
		return -ENOMEM;
	return array_reserve(&table->names, &table->names_max, need, 1);
}

/* Line breaks and tabs separate fields in texts made of names, so they are replaced. */
static void copy_name(char *to, const char *from, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		to[i] = (unsigned char)from[i] < ' ' ? '?' : from[i];
	to[length] = '\0';
}

static int add(void *context, const struct elf_file_function *function)
{
	struct symbol_table *table = context;
	size_t length = strcspn(function->name, "@"); /* name@@VERSION, or name@VERSION */
	uint64_t size = function->size ? function->size : 1;

	if (length == 0 || function->start == UINT64_MAX)
		return 0; /* the last address has no address behind it */
	if (length > NAME_LENGTH_MAX)
		length = NAME_LENGTH_MAX;
	int r = reserve(table, (uint32_t)length + 1);
	if (r)
		return r;
	table->symbols[table->count++] = (struct symbol_table_symbol){
		.start = function->start,
		.end = function->start + size < size ? UINT64_MAX : function->start + size,
		.name = table->names_size,
		.outer = function->binding,
	};
	copy_name(table->names + table->names_size, function->name, (uint32_t)length);
	table->names_size += (uint32_t)length + 1;
	return 0;
}

/* Sorts by address, and the best alias first, so that the choice never depends on the order in the file. */
static int compare(const void *left, const void *right, void *context)
{
	const struct symbol_table_symbol *a = left, *b = right;
	const char *names = context;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (a->outer != b->outer)
		return a->outer < b->outer ? -1 : 1;

	const char *a_name = names + a->name, *b_name = names + b->name;
	size_t a_underscores = strspn(a_name, "_"), b_underscores = strspn(b_name, "_");
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	return strcmp(a_name, b_name);
}

/* Drops aliases, and links each symbol to the symbol around it. */
static void link_symbols(struct symbol_table *table)
{
	uint32_t kept = 0, open = NO_SYMBOL;

	for (uint32_t i = 0; i < table->count; i++) {
		struct symbol_table_symbol symbol = table->symbols[i];

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

int symbol_table_create(struct elf_file *const files[], uint32_t nr_files,
			struct symbol_table **table)
{
	struct symbol_table *new_table = calloc(1, sizeof(*new_table));
	int r = 0;

	*table = NULL;
	if (!new_table)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_files && (r == 0 || r == -ENOENT); i++)
		r = files[i] ? elf_file_each_function(files[i], add, new_table) : 0;
	if (r == 0 || r == -ENOENT)
		r = new_table->count > 0 ? 0 : -ENOENT;
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

void symbol_table_content(const struct symbol_table *table, struct symbol_table_content *content)
{
	*content = (struct symbol_table_content){
		.symbols = table->symbols,
		.names = table->names,
		.count = table->count,
		.names_size = table->names_size,
	};
}

static bool is_sound(const struct symbol_table_content *content)
{
	const struct symbol_table_symbol *symbols = content->symbols;

	if (content->count == 0 || content->names_size == 0 ||
	    content->names[content->names_size - 1] != '\0')
		return false;
	for (uint32_t i = 0; i < content->count; i++) {
		if (symbols[i].end <= symbols[i].start || symbols[i].name >= content->names_size ||
		    (symbols[i].outer != NO_SYMBOL && symbols[i].outer >= i) ||
		    (i > 0 && symbols[i].start <= symbols[i - 1].start))
			return false;
	}
	return true;
}

int symbol_table_restore(const struct symbol_table_content *content, void *memory,
			 struct symbol_table **table)
{
	bool sound = is_sound(content);
	struct symbol_table *new_table = sound ? calloc(1, sizeof(*new_table)) : NULL;

	*table = NULL;
	if (!new_table) {
		free(memory);
		return sound ? -ENOMEM : -EBADMSG;
	}
	new_table->symbols = (struct symbol_table_symbol *)content->symbols;
	new_table->count = content->count;
	new_table->names = (char *)content->names;
	new_table->names_size = content->names_size;
	new_table->memory = memory;
	*table = new_table;
	return 0;
}
