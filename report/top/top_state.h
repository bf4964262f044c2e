/* What a view knows, and the lines that it makes of it. Plain data; its users are top_view and top_lines. */
#ifndef TOP_STATE_H
#define TOP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "top_rows.h"
#include "top_sums.h"

#include "report/watch/watch_events.h"

#define TOP_VIEW_COLUMNS_LEAST 24u
#define TOP_VIEW_LINES_LEAST   6u
#define TOP_VIEW_SEARCH        64u   /* bytes of what is searched for */
#define TOP_VIEW_LINE          2048u /* bytes of a line with its end */

enum top_style {
	TOP_STYLE_PLAIN,
	TOP_STYLE_TITLE,
	TOP_STYLE_HEADING,
	TOP_STYLE_SELECTED,
	TOP_STYLE_LATE,  /* a late rank, or what is told of it */
	TOP_STYLE_FAINT, /* it has ended, or has no news */
	TOP_STYLE_MATCH, /* of the search */
};

struct top_line {
	char text
		[TOP_VIEW_LINE]; /* clean UTF-8, no wider than the view; other characters of ASCII alone */
	enum top_style style;
	uint32_t columns; /* that the text takes */
};

/* What is shown beside the sums. */
struct top_facts {
	const char *profile;            /* clean */
	const char *state;              /* such as "running" */
	const char *message;            /* clean; instead of the help at the bottom; NULL: none */
	bool is_running;                /* more may come */
	bool knows_late;                /* late ranks are looked for */
	const struct watch_event *late; /* those that are late now */
	uint32_t nr_late;
	uint64_t now_ns; /* CLOCK_REALTIME */
};

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

#endif
