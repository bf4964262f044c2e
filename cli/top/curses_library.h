/* ncurses' functions, loaded when `top` draws on a terminal. Part of top_screen.c; used by one thread. */
#ifndef CURSES_LIBRARY_H
#define CURSES_LIBRARY_H

#define NCURSES_NOMACROS 1
#include <curses.h>

struct curses_library {
	__typeof__(&newterm) newterm;
	__typeof__(&delscreen) delscreen;
	__typeof__(&endwin) endwin;
	__typeof__(&cbreak) cbreak;
	__typeof__(&noecho) noecho;
	__typeof__(&nonl) nonl;
	__typeof__(&keypad) keypad;
	__typeof__(&nodelay) nodelay;
	__typeof__(&wgetch) wgetch;
	__typeof__(&newwin) newwin;
	__typeof__(&delwin) delwin;
	__typeof__(&wresize) wresize;
	__typeof__(&resizeterm) resizeterm;
	__typeof__(&wmove) wmove;
	__typeof__(&waddnstr) waddnstr;
	__typeof__(&wclrtoeol) wclrtoeol;
	__typeof__(&wattrset) wattrset;
	__typeof__(&wrefresh) wrefresh;
	__typeof__(&wredrawln) wredrawln;
	__typeof__(&curs_set) curs_set;
	__typeof__(&has_colors) has_colors;
	__typeof__(&start_color) start_color;
	__typeof__(&use_default_colors) use_default_colors;
	__typeof__(&init_pair) init_pair;
	__typeof__(&COLOR_PAIR) COLOR_PAIR;
	__typeof__(&tigetstr) tigetstr;
	__typeof__(&set_escdelay) set_escdelay;
};

/* 0, and *library is borrowed for good; -ENOPKG: there is no such library, and *error is one line that the caller owns
 * (free()). */
int curses_library_open(const struct curses_library **library, char **error);

#endif
