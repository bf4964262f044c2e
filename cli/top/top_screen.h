/* Draws a view on the terminal, and reads its keys. The terminal is as before once the screen is closed. One screen at
 * a time; single-threaded. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <stdbool.h>

#include "report/top/top_view.h"

struct top_screen;

/* Takes the terminal of standard input and output. The caller has set the locale and its handlers of signals. 0;
 * -ENOPKG: ncurses is missing; -ENOTTY: the kind of terminal ($TERM) cannot be drawn on; -ENOMEM. On error *screen is
 * NULL, and *error is one line that the caller owns (free()). */
int top_screen_open(struct top_screen **screen, bool has_colours, char **error);
void top_screen_close(struct top_screen *screen); /* accepts NULL */

/* Gives the view the terminal's size, and draws it. */
void top_screen_draw(struct top_screen *screen, struct top_view *view);

/* Returns the next key, a character or an enum top_key; -1: there is none. Does not wait. */
int top_screen_key(struct top_screen *screen);

#endif
