/* The lines of each kernel, as PyTorch itself keeps them if a program asks for it (INDUCTOR_PROVENANCE=1). It is a JSON
 * object; its keys are the handles that stand beside the calls in the generated file, its values lists of Python stack
 * traces, outermost frame first:
 *	{"extern_kernels.mm:4": ["  File \"/home/alice/model.py\", line 57, in forward\n    x = …\n"]}
 * PyTorch 2.11, torch/_inductor/debug.py (set_kernel_post_grad_provenance_tracing). Pure; any thread. */
#ifndef TRACE_TABLE_H
#define TRACE_TABLE_H

#include <stdint.h>

#include "source_list.h"
#include "text_span.h"

struct trace_table;

/* Reads the text up to its first fault, or until memory runs out. NULL: out of memory. trace_table_destroy() accepts
 * NULL. */
struct trace_table *trace_table_create(struct text_span text);
void trace_table_destroy(struct trace_table *table);

/* Adds one line of each trace of this handle: the innermost that is not of an installed package, else the innermost.
 * What is added is borrowed until trace_table_destroy(). */
void trace_table_add(const struct trace_table *table, struct text_span handle,
		     struct source_list *list);

#endif
