/* Tells why threads were not running, by the kernel functions in which they stood: one word ("futex"), or the name of
 * the system call. A table of fixed size remembers the meaning of an address. Single-threaded: only the agent loop. */
#ifndef WAIT_REASONS_H
#define WAIT_REASONS_H

#include "bpf/sample_event.h"

struct address_list;
struct kernel_symbols;
struct wait_reasons;

/* Creates the table. symbols is borrowed until wait_reasons_destroy(); NULL: no function has a name. NULL: out of
 * memory. */
struct wait_reasons *wait_reasons_create(const struct kernel_symbols *symbols);
void wait_reasons_destroy(struct wait_reasons *reasons); /* accepts NULL */

/* Returns the reason for an event. NULL: it cannot be known, for lack of names or of a kernel stack. Borrowed as long
 * as the symbols are. */
const char *wait_reasons_find(struct wait_reasons *reasons, const struct sample_event *event);

/* Removes the scheduler's own functions from the kernel's part of a stack, since every wait has them. */
void wait_reasons_strip(struct wait_reasons *reasons, struct address_list *list);

#endif
