#include "kernel_configs.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/base/definition_writer.h"
#include "proto/sparse_memory.h"

#define NR_SLOTS (2 * KERNEL_CONFIGS_MAX)
static_assert((NR_SLOTS & (NR_SLOTS - 1)) == 0, "probing wraps by mask");

struct row {
	struct definition_kernel_config sums;
	uint64_t said; /* the count that was defined last */
};

struct kernel_configs {
	uint32_t nr_rows;
	uint32_t newest;          /* the row that was added to last */
	uint16_t slots[NR_SLOTS]; /* row + 1, 0: free; by hash */
	struct row rows[KERNEL_CONFIGS_MAX];
};

struct kernel_configs *kernel_configs_create(void)
{
	struct kernel_configs *configs =
		sparse_memory_map(sizeof(*configs), PROT_READ | PROT_WRITE);

	return configs;
}

void kernel_configs_destroy(struct kernel_configs *configs)
{
	if (configs)
		munmap(configs, sizeof(*configs));
}

static uint32_t hash_of(const struct kernel_config *config)
{
	uint64_t words[sizeof(*config) / sizeof(uint64_t)], hash = 0;

	memcpy(words, config, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 40);
}

static bool is_row(const struct kernel_configs *configs, uint32_t row,
		   const struct kernel_config *config)
{
	return memcmp(&configs->rows[row].sums.config, config, sizeof(*config)) == 0;
}

/* Returns the configuration's row, which it makes if the configuration is new. NULL: there is no room. */
static struct row *find(struct kernel_configs *configs, const struct kernel_config *config)
{
	/* Loops launch the same kernel again and again. */
	if (configs->nr_rows && is_row(configs, configs->newest, config))
		return &configs->rows[configs->newest];

	uint32_t i = hash_of(config) & (NR_SLOTS - 1);
	for (; configs->slots[i]; i = (i + 1) & (NR_SLOTS - 1)) {
		configs->newest = configs->slots[i] - 1u;
		if (is_row(configs, configs->newest, config))
			return &configs->rows[configs->newest];
	}
	if (configs->nr_rows == KERNEL_CONFIGS_MAX)
		return NULL;
	configs->newest = configs->nr_rows++;
	configs->slots[i] = (uint16_t)configs->nr_rows;
	configs->rows[configs->newest].sums.config = *config;
	return &configs->rows[configs->newest];
}

bool kernel_configs_add(struct kernel_configs *configs, const struct kernel_config *config,
			uint64_t ns)
{
	struct row *row = find(configs, config);

	if (!row)
		return false;
	if (row->sums.count == 0 || ns < row->sums.min_ns)
		row->sums.min_ns = ns;
	if (ns > row->sums.max_ns)
		row->sums.max_ns = ns;
	row->sums.total_ns += ns;
	row->sums.count++;
	return true;
}

uint64_t kernel_configs_define(struct kernel_configs *configs, struct definition_writer *writer)
{
	uint64_t left = 0;

	for (uint32_t i = 0; i < configs->nr_rows; i++) {
		struct row *row = &configs->rows[i];

		if (row->said == row->sums.count)
			continue;
		if (definition_writer_put(writer, DEFINITION_KERNEL_CONFIG, &row->sums,
					  sizeof(row->sums), NULL, 0))
			row->said = row->sums.count;
		else
			left += row->sums.count - row->said;
	}
	return left;
}
