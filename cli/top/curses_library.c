#include "curses_library.h"

#include <stddef.h>

#include "base/optional_library.h"

#define SYMBOL(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct curses_library, name)                                       \
	}

static const struct optional_library_symbol symbols[] = {
	SYMBOL(newterm),
	SYMBOL(delscreen),
	SYMBOL(endwin),
	SYMBOL(cbreak),
	SYMBOL(noecho),
	SYMBOL(nonl),
	SYMBOL(keypad),
	SYMBOL(nodelay),
	SYMBOL(wgetch),
	SYMBOL(newwin),
	SYMBOL(delwin),
	SYMBOL(wresize),
	SYMBOL(resizeterm),
	SYMBOL(wmove),
	SYMBOL(waddnstr),
	SYMBOL(wclrtoeol),
	SYMBOL(wattrset),
	SYMBOL(wrefresh),
	SYMBOL(wredrawln),
	SYMBOL(curs_set),
	SYMBOL(has_colors),
	SYMBOL(start_color),
	SYMBOL(use_default_colors),
	SYMBOL(init_pair),
	SYMBOL(COLOR_PAIR),
	SYMBOL(tigetstr),
	SYMBOL(set_escdelay),
};

static struct curses_library functions; /* written once, by optional_library_load() */
static struct optional_library ncurses = {
	.file = "libncursesw.so.6",
	.missing = "libncursesw is missing (Debian, Ubuntu: libncursesw6)",
	.symbols = symbols,
	.nr_symbols = sizeof(symbols) / sizeof(*symbols),
	.functions = &functions,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

int curses_library_open(const struct curses_library **library, char **error)
{
	*library = &functions;
	return optional_library_load(&ncurses, error);
}
