#include "pager.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHELL_NOT_FOUND 127 /* sh(1): there is no such command */

static uint32_t count_lines(const char *text, size_t size)
{
	uint32_t lines = 0;

	for (const char *end = text + size; (text = memchr(text, '\n', (size_t)(end - text)));
	     text++)
		lines++;
	return lines;
}

static int write_out(FILE *out, const char *text, size_t size)
{
	errno = 0;
	if (fwrite(text, 1, size, out) == size && fflush(out) == 0)
		return 0;
	return errno ? -errno : -EIO;
}

/* Returns whether the pager has taken the text, or its reader has left. */
static bool page(const char *command, const char *text, size_t size)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, pipe_before, interrupt_before;
	int status;

	setenv("LESS", PAGER_LESS, 0);
	FILE *pager = popen(command, "we");
	sigaction(SIGPIPE, &ignore, &pipe_before);
	sigaction(SIGINT, &ignore, &interrupt_before); /* Ctrl-C is the pager's */
	if (pager) {
		fwrite(text, 1, size, pager);
		fflush(pager);
	}
	status = pager ? pclose(pager) : -1;
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGINT, &interrupt_before, NULL);
	return status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) >= SHELL_NOT_FOUND - 1);
}

int pager_show(FILE *out, const struct terminal *terminal, const char *text, size_t size)
{
	const char *command = getenv("PAGER");

	if (!command)
		command = PAGER_USUAL " 2>/dev/null";
	fflush(out);
	if (terminal->is_terminal && *command && count_lines(text, size) >= terminal->lines &&
	    page(command, text, size))
		return 0;
	return write_out(out, text, size);
}
