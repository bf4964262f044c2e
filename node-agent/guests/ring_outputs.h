/* Lists the objects into which one process's data is read, from its ring or another source, and its limits. Only the
 * agent loop uses it. */
#ifndef RING_OUTPUTS_H
#define RING_OUTPUTS_H

#include "process_description.h"
#include "process_ledger.h"
#include "process_placement.h"
#include "process_statistics.h"

#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/symbols/module_table.h"

/* Limit in bytes of a process's names and paths together, including Python functions. The largest programs have some
 * MiB. */
#define RING_OUTPUTS_NAMES_SIZE_MAX (24u << 20)
#define RING_OUTPUTS_NAME_COST      32u        /* bytes that each name costs besides its text */
#define RING_OUTPUTS_NODES_MAX      (1u << 21) /* new nodes that the process's stacks may make */

struct cubin_cache;
struct symbolizer_module;
struct user_share;

/* All are borrowed as long as there is a reader. */
struct ring_outputs {
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct process_description *description;
	struct process_ledger *ledger;
	struct process_placement *placement;   /* NULL: places and links are not recorded */
	struct process_statistics *statistics; /* NULL: the guest's statistics are dropped */
	struct cubin_cache *cubins; /* NULL: GPU code has no lines */
	struct user_share *share; /* the user's share of the dictionaries; NULL: no limit */
	/* Reports where the file of a module can be found. A module may be reported again. May be NULL. */
	int (*module)(void *context, const struct symbolizer_module *module);
	/* Reports a new notice of a fault, one line without control characters. May be NULL. */
	void (*notice)(void *context, const char *text);
	void *context;
};

/* Returns the outputs that the process's modules need. */
static inline struct module_table_outputs ring_outputs_modules(const struct ring_outputs *outputs)
{
	return (struct module_table_outputs){outputs->strings, outputs->stacks, outputs->module,
					     outputs->context};
}

#endif
