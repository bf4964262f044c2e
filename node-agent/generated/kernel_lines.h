/* The lines of the model that each line of a generated file works for. They come from what PyTorch keeps beside the
 * file (cached_graph.h):
 *   - its own table of lines, if the program asked for it (trace_table.h);
 *   - else the graph. The comment of a kernel's definition names the nodes that it was fused of, the order of calls
 *     that of others (kernel_order.h).
 *
 * Equal kernels have one definition, whose comment is that of the first call. The comment of a later call names nodes
 * of the program's graph. If definitions tell of all of these, their lines are the call's. Else the lines are those of
 * nodes with the same names, or of the first call, and have the mark MODEL_LINES_NEAR. All lines have it if the graph
 * holds others, whose nodes may have the same names. Pure; any thread. */
#ifndef KERNEL_LINES_H
#define KERNEL_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "text_span.h"

#define KERNEL_LINES_TEXT_MAX (2u << 20) /* bytes of all symbols of a file; equal ones count once */

struct kernel_lines;

/* code: the text of the generated file; graph, traces: those of cached_graph.h (size 0: there is none). NULL: out of
 * memory, or the texts or the symbols are larger than their bounds. kernel_lines_destroy() accepts NULL. */
struct kernel_lines *kernel_lines_create(struct text_span code, struct text_span graph,
					 struct text_span traces);
void kernel_lines_destroy(struct kernel_lines *lines);

/* Returns how many lines of the file have lines of the model. */
uint32_t kernel_lines_count(const struct kernel_lines *lines);

/* Returns the bytes of memory that they take. */
size_t kernel_lines_size(const struct kernel_lines *lines);

/* Goes through all different symbols: NULL gives the first, and after the last comes NULL. Borrowed until
 * kernel_lines_mark_near(), or kernel_lines_destroy(). */
const char *kernel_lines_next(const struct kernel_lines *lines, const char *symbol);

/* Gives all symbols the mark MODEL_LINES_NEAR. */
void kernel_lines_mark_near(struct kernel_lines *lines);

/* Returns the symbol of a line of the file (source_list.h), borrowed until kernel_lines_destroy(). NULL: none. */
const char *kernel_lines_find(const struct kernel_lines *lines, uint64_t line);

#endif
