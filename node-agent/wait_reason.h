/* Why a thread was not running, by the functions of the kernel that it stood in: one word ("futex"), or the name of the system call.
 * Pure; any thread. */
#ifndef WAIT_REASON_H
#define WAIT_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sample_event.h"

#define WAIT_REASON_MAX 64u /* bytes, with the NUL */

struct address_list;
struct kernel_symbols;

/* "" where it can't be known: no names (symbols NULL), or no kernel stack. */
void wait_reason_find(const struct kernel_symbols *symbols, const struct sample_event *event,
		      char reason[static WAIT_REASON_MAX]);

/* Takes the scheduler's own functions off the kernel's part of a stack: they are the same in every wait. */
void wait_reason_strip(const struct kernel_symbols *symbols, struct address_list *list);

#endif
