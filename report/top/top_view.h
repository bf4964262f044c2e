/* What `flamegrid top` shows, and what keys do to it, without a terminal: lines of text from sums. Pure; one view is
 * used by one thread.
 *   - The first line is of all ranks together, with their kernels; then come the ranks. A node that is open shows what
 *     is in it: a rank its GPUs, a GPU its streams, a stream its kernels.
 *   - Of many kernels only the first are shown until somebody opens the line below them.
 *   - Figures are rates: what came between the last two readings, as parts of that time. Or they are totals. */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "top_state.h"

/* Keys that are no characters. */
enum top_key {
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACKSPACE,
	TOP_KEY_ESCAPE,
};

/* is_utf8: the terminal shows more than ASCII. NULL: out of memory. destroy() accepts NULL. */
struct top_view *top_view_create(bool is_utf8);
void top_view_destroy(struct top_view *view);

/* Takes sums (NULL: there are none yet) and facts, which are borrowed until the next call. What is open, selected and
 * searched for stays. 0 or -ENOMEM. */
int top_view_take(struct top_view *view, const struct top_sums *sums,
		  const struct top_facts *facts);

/* The size of the terminal. */
void top_view_resize(struct top_view *view, uint32_t columns, uint32_t lines);

/* Takes a character or an enum top_key. 1: the user wants to leave; 0; -ENOMEM. */
int top_view_key(struct top_view *view, int key);

/* Returns how many lines there are: those of the terminal. top_view_line() writes one of them, counted from 0. */
uint32_t top_view_lines(const struct top_view *view);
void top_view_line(const struct top_view *view, uint32_t number, struct top_line *line);

/* Opens the GPUs of each rank that has several, and makes room for all lines but those about keys. 0 or -ENOMEM. */
int top_view_show_all(struct top_view *view);

/* Returns the nodes that are open, streams among them, whose kernels are wanted. Borrowed until the next key. */
const struct top_keys *top_view_open(const struct top_view *view);

/* Returns, once, whether a stream was opened whose kernels are not there yet. */
bool top_view_asks(struct top_view *view);

/* Shows totals (true) or rates. */
void top_view_show_totals(struct top_view *view, bool totals);

#endif
