#include "top_lines.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_late.h"

#include "report/model/report_fault.h"
#include "report/model/report_summary.h"
#include "report/model/report_tree.h"
#include "report/names/text_line.h"
#include "report/names/text_width.h"
#include "report/watch/watch_writer.h"

#define NAME_LEAST    18u
#define LINE_WIDTH    (TOP_SUMS_HISTORY + 1u)
#define PERCENT_WIDTH 6u
#define NUMBER_WIDTH  8u
#define LATE_PART     6u /* of the terminal's lines, at most that part tells of late ranks */

static const char *const help[] = {
	"up, down, page up, page down, home, end   select",
	"right, Enter   open what is in it: rank, GPU, stream, kernel;  left   close it",
	"s, S   order by the next or last column;  r   the other way round",
	"/   search for a rank, host or kernel;  n, N   next and last match;  Esc   end it",
	"t   totals since the start, or rates of the newest figures",
	"q   leave",
	"",
	"busy   work ran;  comp   kernels but NCCL's;  nccl   NCCL moved data",
	"wait   NCCL waited for other ranks, as far as it is known;  copy   copies, fills",
	"idle   nothing ran.  Work that has not ended is in no figure yet.",
	"! a late rank, as flamegrid watch finds it",
	"Times are parts of all the GPUs' time. Kinds of work overlap: they may be more",
	"than busy.",
};
#define NR_HELP ((uint32_t)(sizeof(help) / sizeof(*help)))

/* ---- pieces of lines */

#define append(line, ...) text_line_append((line)->text, sizeof((line)->text), __VA_ARGS__)

/* Returns the bytes of a text's begin that takes at most so many columns, and its width. */
static size_t begin_of(const char *text, uint32_t columns, uint32_t *width)
{
	uint32_t next;
	size_t size, bytes = 0;

	*width = 0;
	while ((size = text_width_next(text + bytes, &next)) > 0 && *width + next <= columns) {
		*width += next;
		bytes += size;
	}
	return bytes;
}

/* Text of any length, cut in its middle and filled with blanks to so many columns. */
static void append_cell(struct top_line *line, const char *text, uint32_t columns, bool is_left)
{
	char *cell = strdup(text);
	uint32_t width;

	if (!cell)
		return;
	text_width_cut(cell, columns);
	/* That leaves alone what is too wide by less than its dots take. */
	const size_t size = begin_of(cell, columns, &width);
	append(line, "%*s%.*s%*s", is_left ? 0 : (int)(columns - width), "", (int)size, cell,
	       is_left ? (int)(columns - width) : 0, "");
	free(cell);
}

/* Cuts at the end what is wider than the terminal, and leaves ASCII alone where there is no more. What is told of late
 * ranks is not cut where no terminal is. */
static void fit(const struct top_view *view, struct top_line *line, uint32_t number)
{
	const bool is_told = view->shows_all && number + 1 < top_lines_head(view);
	const uint32_t room = is_told ? TOP_VIEW_LINE : view->columns;
	uint32_t used = 0, columns;
	size_t size, out = 0;

	for (const char *at = line->text; (size = text_width_next(at, &columns)) > 0; at += size) {
		if (used + columns > room)
			break;
		used += columns;
		if (view->is_utf8 || (unsigned char)*at < 0x80) {
			memmove(line->text + out, at, size);
			out += size;
		} else if (columns) {
			memset(line->text + out, '?', columns);
			out += columns;
		}
	}
	line->text[out] = '\0';
	line->columns = used;
}

/* ---- columns */

struct layout {
	uint32_t name; /* its width */
	bool has_line;
	bool has[TOP_COLUMNS];
};

static uint32_t width_of(enum top_column column)
{
	return column == TOP_COLUMN_RECORDS ? NUMBER_WIDTH : PERCENT_WIDTH;
}

static struct layout lay_out(const struct top_view *view)
{
	/* by use: those at the end are left out first */
	static const enum top_column order[] = {
		TOP_COLUMN_BUSY,  TOP_COLUMN_WAITS,  TOP_COLUMN_IDLE,   TOP_COLUMN_COMPUTE,
		TOP_COLUMN_MOVES, TOP_COLUMN_COPIES, TOP_COLUMN_RECORDS};
	const uint32_t room = view->columns > NAME_LEAST ? view->columns - NAME_LEAST : 0;
	struct layout layout = {.has_line = false};
	uint32_t used = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (used + width_of(order[i]) > room)
			break;
		layout.has[order[i]] = true;
		used += width_of(order[i]);
	}
	/* A finished profile has none. */
	layout.has_line =
		layout.has[TOP_COLUMN_RECORDS] && used + LINE_WIDTH <= room &&
		(view->facts.is_running || (view->sums && view->sums->nodes[0].nr_history));
	layout.name = view->columns - used - (layout.has_line ? LINE_WIDTH : 0);
	return layout;
}

static void write_heading(const struct top_view *view, struct top_line *line)
{
	const struct layout layout = lay_out(view);
	char heading[32];

	line->style = TOP_STYLE_HEADING;
	for (enum top_column i = TOP_COLUMN_NAME; i < TOP_COLUMNS; i++) {
		snprintf(heading, sizeof(heading), "%s%s%s", i == TOP_COLUMN_NAME ? "    " : "",
			 top_figures_heading(i, view->rows.totals),
			 i == view->rows.column && view->rows.is_reversed ? "^" : "");
		for (char *at = heading; *at && i == view->rows.column; at++)
			*at = (char)toupper((unsigned char)*at);
		if (i == TOP_COLUMN_NAME)
			append_cell(line, heading, layout.name, true);
		else if (layout.has[i])
			append_cell(line, heading, width_of(i), false);
		if (i == TOP_COLUMN_NAME && layout.has_line)
			append(line, " %-*s", (int)TOP_SUMS_HISTORY, "busy time");
	}
}

/* ---- rows */

static bool contains(const char *text, const char *sought)
{
	return strcasestr(text, sought) != NULL;
}

bool top_lines_matches(const struct top_view *view, uint32_t at)
{
	const struct top_node *node = &view->sums->nodes[at];
	char label[TOP_VIEW_LINE];

	if (!*view->search || node->level == TOP_ALL)
		return false;
	return contains(top_sums_label(node, label, sizeof(label)), view->search) ||
	       contains(node->place, view->search);
}

static bool is_silent(const struct top_view *view, const struct top_node *node)
{
	return view->facts.is_running && node->is_running &&
	       (node->level == TOP_RANK || node->level == TOP_GPU) &&
	       report_fault_is_silent(node->heard_ns, view->facts.now_ns);
}

static void write_name(const struct top_view *view, const struct top_row *row, char *text,
		       size_t size)
{
	const struct top_node *node = &view->sums->nodes[row->node];
	const bool can_open = !row->more && node->level != TOP_KERNEL;
	const bool is_open = can_open && top_keys_has(&view->rows.open, node->key);
	char *label = malloc(TOP_VIEW_LINE), time[TOP_FIGURES_CELL];

	if (!label)
		return;
	snprintf(text, size, "%*s%s ", (int)(2 * row->depth), "",
		 !can_open ? " "
		 : is_open ? "-"
			   : "+");
	if (row->more) {
		text_line_append(text, size, "%" PRIu32 " more kernels", row->more);
	} else {
		text_line_append(text, size, "%s", top_sums_label(node, label, TOP_VIEW_LINE));
		if (*node->place)
			text_line_append(text, size, "  %s", node->place);
		if (node->level <= TOP_GPU && node->uncaptured_ns)
			text_line_append(text, size, "  %s not captured",
					 report_summary_time(node->uncaptured_ns, time));
		if (view->facts.is_running && !node->is_running && node->level <= TOP_GPU)
			text_line_append(text, size, "  ended");
		else if (is_silent(view, node))
			text_line_append(text, size, "  silent for %.0f s",
					 (double)(view->facts.now_ns - node->heard_ns) * 1e-9);
	}
	free(label);
}

static enum top_style style_of(const struct top_view *view, uint32_t at, bool is_late)
{
	const struct top_row *row = &view->rows.rows[at];
	const struct top_node *node = &view->sums->nodes[row->node];

	if (at == view->selected)
		return TOP_STYLE_SELECTED;
	if (!row->more && top_lines_matches(view, row->node))
		return TOP_STYLE_MATCH;
	if (is_late)
		return TOP_STYLE_LATE;
	if (row->more || (view->facts.is_running && !node->is_running) || is_silent(view, node))
		return TOP_STYLE_FAINT;
	return TOP_STYLE_PLAIN;
}

static void write_row(const struct top_view *view, uint32_t at, struct top_line *line)
{
	const struct layout layout = lay_out(view);
	const struct top_row *row = &view->rows.rows[at];
	const struct top_node *node = &view->sums->nodes[row->node];
	const bool is_late = node->level == TOP_RANK &&
			     top_late_of(view->facts.late, view->facts.nr_late, node->rank);
	char name[TOP_VIEW_LINE], cell[TOP_FIGURES_CELL], history[8 * TOP_SUMS_HISTORY];

	write_name(view, row, name, sizeof(name));
	append(line, "%s ", is_late ? "!" : " ");
	append_cell(line, name, layout.name - 2, true);
	if (layout.has_line)
		append(line, " %s",
		       row->more ? "            "
				 : top_figures_line(node, view->is_utf8, history, sizeof(history)));
	for (enum top_column i = TOP_COLUMN_BUSY; i < TOP_COLUMNS && !row->more; i++)
		if (layout.has[i])
			append_cell(line, top_figures_cell(node, i, view->rows.totals, cell),
				    width_of(i), false);
	line->style = style_of(view, at, is_late);
}

/* ---- above and below them */

static uint32_t late_lines(const struct top_view *view)
{
	const uint32_t most = view->shows_all ? UINT32_MAX : view->lines / LATE_PART;

	return view->facts.nr_late < most ? view->facts.nr_late : most;
}

uint32_t top_lines_head(const struct top_view *view)
{
	return 2 + late_lines(view);
}

/* How old the figures of running GPUs are, at most and on average. */
static void append_age(const struct top_view *view, struct top_line *line)
{
	uint64_t oldest_ns = UINT64_MAX, rate_ns = 0;
	uint32_t nr_gpus = 0;

	for (uint32_t i = 0; i < view->sums->nr_nodes; i++) {
		const struct top_node *node = &view->sums->nodes[i];

		if (node->level != TOP_GPU || !node->is_running || is_silent(view, node))
			continue;
		rate_ns += node->rate_ns;
		nr_gpus += node->rate_ns > 0;
		if (node->heard_ns < oldest_ns)
			oldest_ns = node->heard_ns;
	}
	if (view->rows.totals)
		append(line, "; totals");
	else if (nr_gpus)
		append(line, "; rates of %.1f s", (double)(rate_ns / nr_gpus) * 1e-9);
	else if (view->facts.is_running)
		append(line, "; rates come with the next figures");
	if (oldest_ns < view->facts.now_ns)
		append(line, ", up to %.1f s old", (double)(view->facts.now_ns - oldest_ns) * 1e-9);
}

static void write_title(const struct top_view *view, struct top_line *line)
{
	const struct top_sums *sums = view->sums;

	line->style = TOP_STYLE_TITLE;
	append(line, "%s", view->facts.state);
	if (sums) {
		append(line, ": %" PRIu32 " rank%s", sums->nr_ranks,
		       sums->nr_ranks == 1 ? "" : "s");
		if (view->facts.is_running && sums->nr_running < sums->nr_ranks)
			append(line, " (%" PRIu32 " run)", sums->nr_running);
		append(line, ", %" PRIu32 " GPU%s", sums->nr_gpus, sums->nr_gpus == 1 ? "" : "s");
		append_age(view, line);
	}
	append(line, "  %.512s", view->facts.profile);
}

static void write_late(const struct top_view *view, uint32_t number, struct top_line *line)
{
	const uint32_t shown = late_lines(view), left = view->facts.nr_late - shown;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	line->style = TOP_STYLE_LATE;
	if (out) {
		watch_writer_text(out, &view->facts.late[number]);
		fclose(out);
	}
	if (number + 1 == shown && left)
		append(line, "(and %" PRIu32 " more) ", left);
	append(line, "%.*s", TOP_VIEW_LINE / 2, text ? text : "");
	free(text);
}

static void write_bottom(const struct top_view *view, struct top_line *line)
{
	line->style = TOP_STYLE_FAINT;
	if (view->is_searching)
		append(line, "/%s%s", view->search, view->has_no_match ? "   (no match)" : "_");
	else if (view->has_no_match)
		append(line, "no match for %s", view->search);
	else if (view->facts.message)
		append(line, "%.*s", TOP_VIEW_LINE / 2, view->facts.message);
	else
		append(line, "q leave  arrows open, close  s order  / search  t %s  ? help",
		       view->rows.totals ? "rates" : "totals");
	if (view->is_searching || view->has_no_match)
		line->style = TOP_STYLE_PLAIN;
}

static void write_line(const struct top_view *view, uint32_t number, struct top_line *line)
{
	const uint32_t head = top_lines_head(view);

	if (view->shows_help) {
		append(line, "%s", number < NR_HELP ? help[number] : "");
	} else if (!view->shows_all &&
		   (view->columns < TOP_VIEW_COLUMNS_LEAST || view->lines < TOP_VIEW_LINES_LEAST)) {
		append(line, "%s", number ? "" : "too small a terminal");
	} else if (number == 0) {
		write_title(view, line);
	} else if (!view->shows_all && number + 1 == view->lines) {
		write_bottom(view, line);
	} else if (number + 1 < head) {
		write_late(view, number - 1, line);
	} else if (number + 1 == head) {
		write_heading(view, line);
	} else if (view->sums && view->top + number - head < view->rows.nr_rows) {
		write_row(view, view->top + number - head, line);
	}
}

void top_lines_write(const struct top_view *view, uint32_t number, struct top_line *line)
{
	line->style = TOP_STYLE_PLAIN;
	*line->text = '\0';
	write_line(view, number, line);
	fit(view, line, number);
}
