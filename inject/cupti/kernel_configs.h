/* How kernels were launched: counts and times of each configuration. Single-threaded: callers hold the activity lock.
 * mmap, never malloc. */
#ifndef KERNEL_CONFIGS_H
#define KERNEL_CONFIGS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/kernel_config.h"

#define KERNEL_CONFIGS_MAX 16384u /* of one process */

struct definition_writer;
struct kernel_configs;

/* NULL: out of memory. The caller owns it; kernel_configs_destroy() accepts NULL. */
struct kernel_configs *kernel_configs_create(void);
void kernel_configs_destroy(struct kernel_configs *configs);

/* Adds one launch that ran for ns. false: KERNEL_CONFIGS_MAX others are there. */
bool kernel_configs_add(struct kernel_configs *configs, const struct kernel_config *config,
			uint64_t ns);

/* Defines what was added to since the last time. Returns the launches that found no room in the definition lane; the
 * next call tries again. */
uint64_t kernel_configs_define(struct kernel_configs *configs, struct definition_writer *writer);

#endif
