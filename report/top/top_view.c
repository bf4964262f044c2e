#include "top_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "top_lines.h"

struct top_view *top_view_create(bool is_utf8)
{
	struct top_view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->is_utf8 = is_utf8;
	top_view_resize(view, 80, 24);
	return view;
}

void top_view_destroy(struct top_view *view)
{
	if (!view)
		return;
	top_rows_fini(&view->rows);
	free(view);
}

/* ---- rows, and the one that is selected */

static uint32_t page_of(const struct top_view *view)
{
	const uint32_t used = top_lines_head(view) + 1;

	return view->lines > used ? view->lines - used : 1;
}

static void scroll(struct top_view *view)
{
	const uint32_t page = page_of(view), nr_rows = view->rows.nr_rows;

	if (view->shows_all)
		return;
	if (view->selected < view->top)
		view->top = view->selected;
	if (view->selected >= view->top + page)
		view->top = view->selected - page + 1;
	if (view->top + page > nr_rows)
		view->top = nr_rows > page ? nr_rows - page : 0;
}

static void select_row(struct top_view *view, uint32_t row)
{
	const uint32_t nr_rows = view->rows.nr_rows;

	if (!nr_rows)
		return;
	view->selected = row < nr_rows ? row : nr_rows - 1;
	view->selected_key = view->sums->nodes[view->rows.rows[view->selected].node].key;
	view->selects_more = view->rows.rows[view->selected].more > 0;
	scroll(view);
}

/* Makes the rows anew; the selection stays with its node. */
static int make_rows(struct top_view *view)
{
	if (!view->sums)
		return 0;
	int error = top_rows_make(&view->rows, view->sums);

	for (uint32_t i = 0; i < view->rows.nr_rows; i++) {
		const struct top_row *row = &view->rows.rows[i];

		if (view->sums->nodes[row->node].key == view->selected_key &&
		    (row->more > 0) == view->selects_more) {
			view->selected = i;
			break;
		}
	}
	select_row(view, view->selected);
	return error;
}

int top_view_take(struct top_view *view, const struct top_sums *sums, const struct top_facts *facts)
{
	const bool is_first = !view->sums && sums;

	view->sums = sums;
	view->facts = *facts;
	if (is_first && !view->rows.open.count) {
		int error = top_keys_add(&view->rows.open, sums->nodes[0].key);

		view->selected_key = sums->nodes[0].key;
		if (error)
			return error;
	}
	return make_rows(view);
}

void top_view_resize(struct top_view *view, uint32_t columns, uint32_t lines)
{
	view->columns = columns;
	view->lines = lines;
	scroll(view);
}

uint32_t top_view_lines(const struct top_view *view)
{
	return view->shows_all ? top_lines_head(view) + view->rows.nr_rows : view->lines;
}

void top_view_line(const struct top_view *view, uint32_t number, struct top_line *line)
{
	top_lines_write(view, number, line);
}

const struct top_keys *top_view_open(const struct top_view *view)
{
	return &view->rows.open;
}

bool top_view_asks(struct top_view *view)
{
	const bool asks = view->asks;

	view->asks = false;
	return asks;
}

void top_view_show_totals(struct top_view *view, bool totals)
{
	view->rows.totals = totals;
}

int top_view_show_all(struct top_view *view)
{
	int error = 0;

	for (uint32_t i = 0; view->sums && i < view->sums->nr_nodes && !error; i++) {
		const struct top_node *node = &view->sums->nodes[i];

		if (node->level == TOP_RANK && node->first != TOP_SUMS_NONE &&
		    view->sums->nodes[node->first].next != TOP_SUMS_NONE)
			error = top_keys_add(&view->rows.open, node->key);
	}
	view->shows_all = true;
	return error ? error : make_rows(view);
}

/* ---- search */

static bool row_matches(const struct top_view *view, uint32_t row)
{
	return !view->rows.rows[row].more && top_lines_matches(view, view->rows.rows[row].node);
}

/* Selects the next match in a direction, around the end; the selected row itself if it may stay. What no row shows is
 * searched, too. */
static int find_match(struct top_view *view, int direction, bool may_stay)
{
	const uint32_t nr_rows = view->rows.nr_rows;

	view->has_no_match = false;
	if (!view->sums || !nr_rows || !*view->search)
		return 0;
	for (uint32_t i = may_stay ? 0 : 1; i <= nr_rows; i++) {
		const uint32_t row =
			(view->selected + (direction > 0 ? i : nr_rows - i % nr_rows)) % nr_rows;

		if (row_matches(view, row)) {
			select_row(view, row);
			return 0;
		}
	}
	for (uint32_t at = 0; at < view->sums->nr_nodes; at++) {
		if (!top_lines_matches(view, at))
			continue;
		int error = top_rows_reveal(&view->rows, view->sums, at);

		view->selected_key = view->sums->nodes[at].key;
		view->selects_more = false;
		return error ? error : make_rows(view);
	}
	view->has_no_match = true;
	return 0;
}

static void drop_last(char *text)
{
	size_t size = strlen(text);

	while (size > 0 && ((unsigned char)text[--size] & 0xc0) == 0x80)
		;
	text[size] = '\0';
}

static int take_search_key(struct top_view *view, int key)
{
	const size_t size = strlen(view->search);

	switch (key) {
	case '\n':
	case '\r':
		view->is_searching = false;
		return 0;
	case TOP_KEY_ESCAPE:
		view->is_searching = false;
		*view->search = '\0';
		view->has_no_match = false;
		return 0;
	case TOP_KEY_BACKSPACE:
		drop_last(view->search);
		return find_match(view, 1, true);
	default:
		break;
	}
	if (key < ' ' || key >= 0x7f || size + 1 >= sizeof(view->search))
		return 0;
	view->search[size] = (char)key;
	view->search[size + 1] = '\0';
	return find_match(view, 1, true);
}

/* ---- keys */

static int open_row(struct top_view *view)
{
	const struct top_row *row = &view->rows.rows[view->selected];
	const struct top_node *node = &view->sums->nodes[row->node];

	if (row->more) {
		view->selects_more = false;
		int error = top_keys_add(&view->rows.full, node->key);

		return error ? error : make_rows(view);
	}
	if (node->level == TOP_KERNEL)
		return 0;
	view->asks |= node->level == TOP_STREAM && !node->is_told;
	int error = top_keys_add(&view->rows.open, node->key);

	return error ? error : make_rows(view);
}

/* Closes the selected node, or the one around it. */
static int close_row(struct top_view *view)
{
	const struct top_row *row = &view->rows.rows[view->selected];
	const struct top_node *node = &view->sums->nodes[row->node];

	if (!row->more && !top_keys_has(&view->rows.open, node->key) && row->depth > 0)
		node = &view->sums->nodes[node->parent];
	top_keys_remove(&view->rows.open, node->key);
	top_keys_remove(&view->rows.full, node->key);
	view->selected_key = node->key;
	view->selects_more = false;
	return make_rows(view);
}

static int toggle_row(struct top_view *view)
{
	const struct top_row *row = &view->rows.rows[view->selected];

	return !row->more && top_keys_has(&view->rows.open, view->sums->nodes[row->node].key)
		       ? close_row(view)
		       : open_row(view);
}

static int order_by(struct top_view *view, uint32_t column)
{
	view->rows.column = (enum top_column)(column % TOP_COLUMNS);
	view->rows.is_reversed = false;
	return make_rows(view);
}

static int take_row_key(struct top_view *view, int key)
{
	const uint32_t page = page_of(view), selected = view->selected;

	if (!view->sums || !view->rows.nr_rows)
		return 0;
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		select_row(view, selected ? selected - 1 : 0);
		break;
	case TOP_KEY_DOWN:
	case 'j':
		select_row(view, selected + 1);
		break;
	case TOP_KEY_PAGE_UP:
		select_row(view, selected > page ? selected - page : 0);
		break;
	case TOP_KEY_PAGE_DOWN:
		select_row(view, selected + page);
		break;
	case TOP_KEY_HOME:
	case 'g':
		select_row(view, 0);
		break;
	case TOP_KEY_END:
	case 'G':
		select_row(view, UINT32_MAX);
		break;
	case TOP_KEY_RIGHT:
	case 'l':
		return open_row(view);
	case TOP_KEY_LEFT:
	case 'h':
		return close_row(view);
	case '\n':
	case '\r':
	case ' ':
		return toggle_row(view);
	default:
		break;
	}
	return 0;
}

int top_view_key(struct top_view *view, int key)
{
	view->facts.message = NULL;
	if (view->shows_help) {
		view->shows_help = false;
		return key == 'q';
	}
	if (view->is_searching)
		return take_search_key(view, key);
	switch (key) {
	case 'q':
		return 1;
	case '?':
		view->shows_help = true;
		return 0;
	case '/':
		view->is_searching = true;
		*view->search = '\0';
		view->has_no_match = false;
		return 0;
	case 'n':
		return find_match(view, 1, false);
	case 'N':
		return find_match(view, -1, false);
	case TOP_KEY_ESCAPE:
		*view->search = '\0';
		view->has_no_match = false;
		return 0;
	case 't':
		view->rows.totals = !view->rows.totals;
		return make_rows(view);
	case 's':
		return order_by(view, view->rows.column + 1);
	case 'S':
		return order_by(view, view->rows.column + TOP_COLUMNS - 1);
	case 'r':
		view->rows.is_reversed = !view->rows.is_reversed;
		return make_rows(view);
	default:
		return take_row_key(view, key);
	}
}
