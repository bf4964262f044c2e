/* Counts and times each configuration with which kernels were launched. Single-threaded: callers hold the activity
 * lock. Memory is from mmap, never from malloc. */
#ifndef KERNEL_CONFIGS_H
#define KERNEL_CONFIGS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/kernel_config.h"

#define KERNEL_CONFIGS_MAX 16384u /* configurations of one process */

struct definition_writer;
struct kernel_configs;

/* Creates an empty table. NULL: out of memory. The caller owns it; kernel_configs_destroy() accepts NULL. */
struct kernel_configs *kernel_configs_create(void);
void kernel_configs_destroy(struct kernel_configs *configs);

/* Adds one launch that ran for ns. Returns false if it is a new configuration and KERNEL_CONFIGS_MAX are known. */
bool kernel_configs_add(struct kernel_configs *configs, const struct kernel_config *config,
			uint64_t ns);

/* Defines the configurations that launches were added to since the last call. Returns the number of launches that found
 * no room in the definition lane; the next call tries again. */
uint64_t kernel_configs_define(struct kernel_configs *configs, struct definition_writer *writer);

#endif
