/* The lines of a view. Part of top_view; pure; one thread. */
#ifndef TOP_LINES_H
#define TOP_LINES_H

#include "top_state.h"

/* Returns how many lines stand above the rows. */
uint32_t top_lines_head(const struct top_view *view);

/* Returns whether the search finds this node. */
bool top_lines_matches(const struct top_view *view, uint32_t node);

/* Writes a line, counted from 0. */
void top_lines_write(const struct top_view *view, uint32_t number, struct top_line *line);

#endif
