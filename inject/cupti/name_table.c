#include "name_table.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/base/definition_writer.h"
#include "proto/record.h"
#include "proto/sparse_memory.h"

#define NR_SLOTS (2 * NAME_TABLE_MAX)
#define NR_HINTS 4096u
static_assert((NR_SLOTS & (NR_SLOTS - 1)) == 0, "probing wraps by mask");

struct name {
	uint64_t hash;
	const char *text; /* in the arena, NUL-terminated */
};

struct hint {
	const char *address;
	uint32_t name_id;
};

#define OPEN_STEP (UINT64_C(1) << 20)

struct name_table {
	struct definition_writer *writer;
	uint32_t nr_names;
	uint64_t bytes, used_bytes;        /* of the arena */
	uint64_t size, open_size;          /* of the whole mapping, and of its part with access */
	struct hint hints[NR_HINTS];       /* by address */
	uint32_t slots[NR_SLOTS];          /* name_id, or RECORD_NAME_NONE; by hash */
	struct name names[NAME_TABLE_MAX]; /* names[name_id - 1] */
	char arena[];
};

struct name_table *name_table_create(struct definition_writer *writer, uint64_t bytes)
{
	struct name_table *table =
		sparse_memory_map(sizeof(*table) + bytes, PROT_READ | PROT_WRITE);

	uint64_t open_size = (sizeof(*table) + OPEN_STEP - 1) & ~(OPEN_STEP - 1);

	if (!table)
		return NULL;
	table->size = sizeof(*table) + bytes;
	table->open_size = table->size;
	if (open_size < table->size &&
	    mprotect((char *)table + open_size, table->size - open_size, PROT_NONE) == 0)
		table->open_size = open_size;
	table->writer = writer;
	table->bytes = bytes;
	return table;
}

void name_table_destroy(struct name_table *table)
{
	if (table)
		munmap(table, table->size);
}

static uint64_t hash_text(const char *text, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u ^ size;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

/* Compares names up to the length that the table keeps. */
static bool same_text(const char *stored, const char *name)
{
	return strncmp(stored, name, RECORD_NAME_MAX) == 0;
}

/* Makes the arena accessible as it fills, so that mlockall() brings in little that holds no name. */
static bool open_arena(struct name_table *table, uint64_t used_bytes)
{
	uint64_t end = sizeof(*table) + used_bytes;

	while (table->open_size < end) {
		uint64_t left = table->size - table->open_size;
		uint64_t step = left < OPEN_STEP ? left : OPEN_STEP;

		if (sparse_memory_open((char *)table + table->open_size, step) < 0)
			return false;
		table->open_size += step;
	}
	return true;
}

static uint32_t insert(struct name_table *table, uint64_t hash, const char *name, size_t size,
		       uint32_t *slot)
{
	struct definition_name head = {.name_id = table->nr_names + 1,
				       .truncated = name[size] != '\0'};

	if (table->nr_names == NAME_TABLE_MAX || size + 1 > table->bytes - table->used_bytes ||
	    !open_arena(table, table->used_bytes + size + 1) ||
	    !definition_writer_put(table->writer, DEFINITION_NAME, &head, sizeof(head), name,
				   (uint32_t)size))
		return RECORD_NAME_NONE;

	char *text = table->arena + table->used_bytes;
	memcpy(text, name, size); /* the arena is zero behind it */
	table->used_bytes += size + 1;
	table->names[table->nr_names++] = (struct name){.hash = hash, .text = text};
	*slot = head.name_id;
	return head.name_id;
}

static uint32_t find_or_insert(struct name_table *table, const char *name)
{
	size_t size = strnlen(name, RECORD_NAME_MAX);
	uint64_t hash = hash_text(name, size);
	uint32_t i = (uint32_t)hash & (NR_SLOTS - 1);

	for (; table->slots[i] != RECORD_NAME_NONE; i = (i + 1) & (NR_SLOTS - 1)) {
		const struct name *known = &table->names[table->slots[i] - 1];

		if (known->hash == hash && same_text(known->text, name))
			return table->slots[i];
	}
	return insert(table, hash, name, size, &table->slots[i]);
}

uint32_t name_table_intern(struct name_table *table, const char *name)
{
	if (!name)
		return RECORD_NAME_NONE;

	struct hint *hint = &table->hints[(uintptr_t)name / 16 % NR_HINTS];
	if (hint->address == name && same_text(table->names[hint->name_id - 1].text, name))
		return hint->name_id;

	uint32_t name_id = find_or_insert(table, name);
	if (name_id != RECORD_NAME_NONE)
		*hint = (struct hint){.address = name, .name_id = name_id};
	return name_id;
}
