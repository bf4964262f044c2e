/* Decides which launches or ranges are measured: the first few of each key in a context, if the name matches. Looking
 * one up takes no lock; all else is done by one thread at a time. Memory comes from mmap(), but the regular
 * expression's is malloc()ed, when it is compiled and when a kernel comes for the first time. */
#ifndef LAUNCH_CHOICE_H
#define LAUNCH_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_CHOICE_MAX 65536u /* keys; launches of further ones are not measured */

struct launch_choice;

enum launch_verdict {
	LAUNCH_UNKNOWN, /* launch_choice_enter() decides */
	LAUNCH_WANTED,
	LAUNCH_DONE,    /* not wanted, or measured often enough */
	LAUNCH_WAITING, /* it may wait for other GPUs (NCCL, NVSHMEM), and is never measured */
};

/* regex: extended; "": all kernels. NULL: out of memory, or no regular expression. destroy() accepts NULL. */
struct launch_choice *launch_choice_create(uint32_t launches, const char *regex);
void launch_choice_destroy(struct launch_choice *choice);

/* The key of a launch in a context, never 0. function: the kernel, or the number of a range's name. config: bytes that
 * tell launches apart, or NULL. */
uint64_t launch_choice_key(uint32_t context_id, uint32_t stack_id, const void *function,
			   const void *config, uint32_t config_size);

/* Any thread. */
enum launch_verdict launch_choice_find(const struct launch_choice *choice, uint64_t key);

/* Enters a key that was not found. name: the kernel's, or NULL. */
enum launch_verdict launch_choice_enter(struct launch_choice *choice, uint64_t key,
					const char *name);

/* Notes that a launch of the key was measured. */
void launch_choice_measured(struct launch_choice *choice, uint64_t key);

#endif
