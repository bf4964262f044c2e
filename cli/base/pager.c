#include "pager.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text_wrap.h"

#include "base/memory_text.h"

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

/* Returns the pager's command; NULL: there is to be none. A pager cannot move about on a terminal that nobody knows. */
static const char *find_command(void)
{
	const char *command = getenv("PAGER"), *type = getenv("TERM");

	if (!type || !*type || strcmp(type, "dumb") == 0)
		return NULL;
	if (!command)
		return "command -v less >/dev/null || exit 1; exec " PAGER_USUAL;
	return command[strspn(command, " \t")] ? command : NULL;
}

/* Returns whether the pager has shown the text. One that fails may have shown nothing. */
static bool page(const char *command, const char *text, size_t size)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, pipe_before, interrupt_before,
			 quit_before;
	int status;

	setenv("LESS", PAGER_LESS, 0);
	FILE *pager = popen(command, "we");
	sigaction(SIGPIPE, &ignore, &pipe_before);
	sigaction(SIGINT, &ignore, &interrupt_before); /* keys are the pager's */
	sigaction(SIGQUIT, &ignore, &quit_before);
	if (pager) {
		fwrite(text, 1, size, pager);
		fflush(pager);
	}
	status = pager ? pclose(pager) : -1;
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGINT, &interrupt_before, NULL);
	sigaction(SIGQUIT, &quit_before, NULL);
	return status != -1 && (WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

int pager_show(FILE *out, const struct terminal *terminal, const char *text, size_t size)
{
	const char *command = terminal->is_terminal ? find_command() : NULL;

	fflush(out);
	if (command && count_lines(text, size) >= terminal->lines && page(command, text, size))
		return 0;
	return write_out(out, text, size);
}

int pager_show_text(const struct terminal *terminal, pager_writer *write, void *context)
{
	struct memory_text memory;
	char *text = NULL, *wrapped = NULL;
	size_t size;
	int result = memory_text_open(&memory);

	if (result)
		return result;
	result = write(context, memory.out);
	int taken = memory_text_take(&memory, &text, &size);
	if (!result)
		result = taken ? taken : memory_text_open(&memory);
	if (!result) {
		text_wrap_write(memory.out, text, terminal->columns);
		result = memory_text_take(&memory, &wrapped, &size);
	}
	if (!result)
		result = pager_show(stdout, terminal, wrapped, size);
	free(text);
	free(wrapped);
	return result;
}
