#include "top_screen.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "curses_library.h"

#include "base/error_text.h"

#define ESCAPE_MS 50 /* after that an escape is no begin of a key */
#define SIZE_MOST 4096

enum colour_pair { PAIR_LATE = 1, PAIR_MATCH };

struct top_screen {
	const struct curses_library *curses;
	SCREEN *terminal;
	WINDOW *window;
	bool has_colours;
	uint32_t columns, lines;
	struct top_line line;
};

static int explain(char **error)
{
	const char *kind = getenv("TERM");

	return error_text_set(error, -ENOTTY,
			      "the terminal cannot be drawn on (TERM is %.64s): flamegrid top "
			      "--once prints a table",
			      kind && *kind ? kind : "not set");
}

/* newterm() leaves a terminal alone that it does not know. */
static int take_terminal(struct top_screen *screen, char **error)
{
	const struct curses_library *curses = screen->curses;

	screen->terminal = curses->newterm(NULL, stdout, stdin);
	if (!screen->terminal)
		return explain(error);
	const char *move = curses->tigetstr("cup");
	if (!move || move == (char *)-1) {
		curses->endwin();
		curses->delscreen(screen->terminal);
		screen->terminal = NULL;
		return explain(error);
	}
	screen->window = curses->newwin(0, 0, 0, 0);
	return screen->window ? 0 : -ENOMEM;
}

static void set_up(struct top_screen *screen)
{
	const struct curses_library *curses = screen->curses;

	curses->cbreak();
	curses->noecho();
	curses->nonl();
	curses->set_escdelay(ESCAPE_MS);
	curses->keypad(screen->window, TRUE);
	curses->nodelay(screen->window, TRUE);
	curses->curs_set(0);
	screen->has_colours = screen->has_colours && curses->has_colors() &&
			      curses->start_color() == OK && curses->use_default_colors() == OK;
	if (!screen->has_colours)
		return;
	curses->init_pair(PAIR_LATE, COLOR_RED, -1);
	curses->init_pair(PAIR_MATCH, COLOR_YELLOW, -1);
}

int top_screen_open(struct top_screen **screen, bool has_colours, char **error)
{
	int status;

	*screen = calloc(1, sizeof(**screen));
	if (!*screen)
		return error_text_set(error, -ENOMEM, "out of memory");
	(*screen)->has_colours = has_colours;
	status = curses_library_open(&(*screen)->curses, error);
	if (!status)
		status = take_terminal(*screen, error);
	if (!status) {
		set_up(*screen);
		return 0;
	}
	top_screen_close(*screen);
	*screen = NULL;
	return error_text_set(error, status, "out of memory");
}

void top_screen_close(struct top_screen *screen)
{
	if (!screen)
		return;
	if (screen->window)
		screen->curses->delwin(screen->window);
	if (screen->terminal) {
		screen->curses->endwin();
		screen->curses->delscreen(screen->terminal);
	}
	free(screen);
}

/* ---- drawing */

static void take_size(struct top_screen *screen, struct top_view *view)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	const uint32_t lines = size.ws_row < SIZE_MOST ? size.ws_row : SIZE_MOST;
	const uint32_t columns = size.ws_col < SIZE_MOST ? size.ws_col : SIZE_MOST;

	if (lines == screen->lines && columns == screen->columns)
		return;
	screen->lines = lines;
	screen->columns = columns;
	screen->curses->resizeterm((int)lines, (int)columns);
	screen->curses->wresize(screen->window, (int)lines, (int)columns);
	screen->curses->wredrawln(screen->window, 0, (int)lines);
	top_view_resize(view, columns, lines);
}

static int attributes_of(const struct top_screen *screen, enum top_style style)
{
	const bool has_colours = screen->has_colours;

	switch (style) {
	case TOP_STYLE_TITLE:
		return (int)A_BOLD;
	case TOP_STYLE_HEADING:
		return (int)A_UNDERLINE;
	case TOP_STYLE_SELECTED:
		return (int)A_REVERSE;
	case TOP_STYLE_LATE:
		return (int)A_BOLD | (has_colours ? screen->curses->COLOR_PAIR(PAIR_LATE) : 0);
	case TOP_STYLE_FAINT:
		return has_colours ? (int)A_DIM : 0;
	case TOP_STYLE_MATCH:
		return (int)A_BOLD | (has_colours ? screen->curses->COLOR_PAIR(PAIR_MATCH) : 0);
	case TOP_STYLE_PLAIN:
		break;
	}
	return 0;
}

void top_screen_draw(struct top_screen *screen, struct top_view *view)
{
	const struct curses_library *curses = screen->curses;

	take_size(screen, view);
	for (uint32_t i = 0; i < screen->lines; i++) {
		top_view_line(view, i, &screen->line);
		curses->wmove(screen->window, (int)i, 0);
		curses->wattrset(screen->window, attributes_of(screen, screen->line.style));
		curses->waddnstr(screen->window, screen->line.text, -1);
		curses->wattrset(screen->window, 0);
		/* after a full line the place is the next one's begin */
		if (screen->line.columns < screen->columns)
			curses->wclrtoeol(screen->window);
	}
	curses->wrefresh(screen->window);
}

/* ---- keys */

int top_screen_key(struct top_screen *screen)
{
	static const int keys[][2] = {
		{KEY_UP, TOP_KEY_UP},
		{KEY_DOWN, TOP_KEY_DOWN},
		{KEY_LEFT, TOP_KEY_LEFT},
		{KEY_RIGHT, TOP_KEY_RIGHT},
		{KEY_PPAGE, TOP_KEY_PAGE_UP},
		{KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},
		{KEY_END, TOP_KEY_END},
		{KEY_BACKSPACE, TOP_KEY_BACKSPACE},
		{'\b', TOP_KEY_BACKSPACE},
		{0x7f, TOP_KEY_BACKSPACE},
		{0x1b, TOP_KEY_ESCAPE},
		{KEY_ENTER, '\n'},
	};
	const int key = screen->curses->wgetch(screen->window);

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (key == keys[i][0])
			return keys[i][1];
	return key == ERR ? -1 : key < 0x100 ? key : 0;
}
