/* The lines of a view. Part of top_view; pure; one thread. */
#ifndef TOP_LINES_H
#define TOP_LINES_H

#include "top_rows.h"
#include "top_view.h"

struct top_view {
	bool is_utf8;
	const struct top_sums *sums; /* borrowed, as all of facts */
	struct top_facts facts;
	struct top_rows rows;
	uint32_t columns, lines; /* of the terminal */
	uint32_t top, selected;  /* rows; top: the first one that is shown */
	uint64_t selected_key;   /* of its node */
	bool selects_more;       /* it is a line of further kernels */
	bool asks;
	bool shows_all; /* all rows, and no line about keys */
	bool is_searching, has_no_match, shows_help;
	char search[TOP_VIEW_SEARCH];
};

/* Returns how many lines stand above the rows. */
uint32_t top_lines_head(const struct top_view *view);

/* Returns whether the search finds this node. */
bool top_lines_matches(const struct top_view *view, uint32_t node);

#endif
