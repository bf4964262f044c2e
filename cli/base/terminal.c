#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_USUAL 80u
#define COLUMNS_LEAST 40u /* narrower tables would be all dots */
#define LINES_USUAL   24u
#define SIZE_MOST     10000u

static uint32_t size_of(const char *variable, uint32_t answered, uint32_t usual)
{
	const char *text = getenv(variable);
	unsigned long size = text && *text >= '0' && *text <= '9' ? strtoul(text, NULL, 10) : 0;

	if (size == 0 || size > SIZE_MOST)
		size = answered;
	return size ? (uint32_t)size : usual;
}

void terminal_read(struct terminal *terminal, int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
	struct winsize size = {0};

	memset(terminal, 0, sizeof(*terminal));
	if (!isatty(fd))
		return;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		memset(&size, 0, sizeof(size));
	terminal->is_terminal = true;
	terminal->has_colours = !(no_colour && *no_colour) && kind && strcmp(kind, "dumb") != 0;
	terminal->columns = size_of("COLUMNS", size.ws_col, COLUMNS_USUAL);
	terminal->lines = size_of("LINES", size.ws_row, LINES_USUAL);
	if (terminal->columns < COLUMNS_LEAST)
		terminal->columns = COLUMNS_LEAST;
}
