/* What a process's data is read into, from its ring or by other ways, and how much of it one process may bring. Only
 * the agent loop uses it. */
#ifndef RING_OUTPUTS_H
#define RING_OUTPUTS_H

#include "process_description.h"
#include "process_ledger.h"
#include "process_placement.h"
#include "process_statistics.h"

#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/symbols/module_table.h"

/* Bytes of its names and paths together, Python functions included: the largest programs have some MiB. */
#define RING_OUTPUTS_NAMES_SIZE_MAX (24u << 20)
#define RING_OUTPUTS_NAME_COST      32u        /* that each of them takes besides */
#define RING_OUTPUTS_NODES_MAX      (1u << 21) /* new nodes that its stacks may make */

struct symbolizer_module;
struct user_share;

/* All borrowed as long as there is a reader. */
struct ring_outputs {
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct process_description *description;
	struct process_ledger *ledger;
	struct process_placement *placement;   /* NULL: nobody wants to know where it runs */
	struct process_statistics *statistics; /* NULL: what the guest counts is thrown away */
	struct user_share *share; /* of the dictionaries; NULL: it may enter what it likes */
	/* A module was seen, perhaps not for the first time: where its file can be found. May be
	 * NULL. */
	int (*module)(void *context, const struct symbolizer_module *module);
	/* A notice that is new and tells of a fault, one line without control characters. May be NULL. */
	void (*notice)(void *context, const char *text);
	void *context;
};

/* What the modules of the process need of it. */
static inline struct module_table_outputs ring_outputs_modules(const struct ring_outputs *outputs)
{
	return (struct module_table_outputs){outputs->strings, outputs->stacks, outputs->module,
					     outputs->context};
}

#endif
