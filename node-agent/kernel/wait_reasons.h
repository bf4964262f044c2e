/* Why threads were not running, by the functions of the kernel that they stood in: one word ("futex"), or the name of
 * the system call. A table of fixed size remembers what an address tells. Single-threaded: only the agent loop. */
#ifndef WAIT_REASONS_H
#define WAIT_REASONS_H

#include "bpf/sample_event.h"

struct address_list;
struct kernel_symbols;
struct wait_reasons;

/* symbols is borrowed until wait_reasons_destroy(); NULL: no function has a name. NULL: out of memory. */
struct wait_reasons *wait_reasons_create(const struct kernel_symbols *symbols);
void wait_reasons_destroy(struct wait_reasons *reasons); /* accepts NULL */

/* NULL where it cannot be known: no names, or no kernel stack. Borrowed as long as the symbols are. */
const char *wait_reasons_find(struct wait_reasons *reasons, const struct sample_event *event);

/* Takes the scheduler's own functions off the kernel's part of a stack: they are the same in every wait. */
void wait_reasons_strip(struct wait_reasons *reasons, struct address_list *list);

#endif
