/* What an event of the kernel's half is called: why it waited, or which function was called. Single-threaded. */
#ifndef EVENT_NAME_H
#define EVENT_NAME_H

#include <stdint.h>

#include "bpf/sample_event.h"

struct kernel_symbols;
struct string_dictionary;

/* The name's id in the dictionary; STRING_NONE: it has none, or found no room. 0 or -ENOMEM. */
int event_name_find(const struct kernel_symbols *kernel, struct string_dictionary *strings,
		    const struct sample_event *event, uint32_t *name_id);

#endif
