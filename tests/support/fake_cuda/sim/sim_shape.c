#include "sim_shape.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim_trace.h"

#define BUCKETS 4096u

struct key {
	uint32_t ordinal, grid[3], block[3], static_bytes, dynamic_bytes, registers;
	const char *name; /* interned: equal names are equal pointers */
};

struct sim_shape_row {
	struct sim_shape_row *next;
	struct key key;
	_Atomic uint64_t count, ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_shape_row *buckets[BUCKETS];

static uint32_t bucket_of(const struct key *key)
{
	uint64_t hash = (uintptr_t)key->name >> 4;

	for (int i = 0; i < 3; i++)
		hash = (hash ^ key->grid[i]) * 0x9e3779b97f4a7c15u + key->block[i];
	return (uint32_t)(hash >> 32) % BUCKETS;
}

struct sim_shape_row *sim_shape_row(const struct sim_operation *operation)
{
	struct key key;

	if (operation->kind != SIM_KERNEL)
		return NULL;
	memset(&key, 0, sizeof(key)); /* padding, too: keys are compared as bytes */
	key.ordinal = operation->device_ordinal;
	memcpy(key.grid, operation->grid, sizeof(key.grid));
	memcpy(key.block, operation->block, sizeof(key.block));
	key.static_bytes = operation->static_shared_bytes;
	key.dynamic_bytes = operation->shared_bytes;
	key.registers = operation->registers;
	key.name = operation->name;

	struct sim_shape_row **bucket = &buckets[bucket_of(&key)];
	pthread_mutex_lock(&lock);
	struct sim_shape_row *row = *bucket;
	while (row && memcmp(&row->key, &key, sizeof(key)) != 0)
		row = row->next;
	if (!row && (row = calloc(1, sizeof(*row)))) {
		row->key = key;
		row->next = *bucket;
		*bucket = row;
	}
	pthread_mutex_unlock(&lock);
	return row;
}

void sim_shape_count(struct sim_shape_row *row, uint64_t ns)
{
	if (!row)
		return;
	atomic_fetch_add_explicit(&row->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->ns, ns, memory_order_relaxed);
}

void sim_shape_write(FILE *file)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (struct sim_shape_row *row = buckets[i]; row; row = row->next) {
			const struct key *key = &row->key;

			if (atomic_load(&row->count) == 0)
				continue;
			fprintf(file,
				"#config\t%u\t%s\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t0\t%" PRIu64
				"\t%" PRIu64 "\n",
				key->ordinal, key->name, key->grid[0], key->grid[1], key->grid[2],
				key->block[0], key->block[1], key->block[2], key->static_bytes,
				key->dynamic_bytes, key->registers, atomic_load(&row->count),
				atomic_load(&row->ns));
		}
	}
	pthread_mutex_unlock(&lock);
}
