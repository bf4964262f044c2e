#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utf8.h"

static struct {
	char name[64];
	enum log_level level;
	bool is_journal;
} self = {.name = "flamegrid", .level = LOG_LEVEL_NOTICE};

/* The variable outlives a redirection of stderr, so device and inode are compared. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;
	char rest;

	return stream && sscanf(stream, "%llu:%llu%c", &device, &inode, &rest) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

void log_begin(const char *program, const char *verb, enum log_level level)
{
	snprintf(self.name, sizeof(self.name), "%s%s%s", program, verb ? ": " : "",
		 verb ? verb : "");
	self.level = level;
	self.is_journal = is_journal();
}

void log_set_level(enum log_level level)
{
	self.level = level;
}

bool log_shows(enum log_level level)
{
	return level <= self.level;
}

const char *log_mark(enum log_level level)
{
	static const char *const marks[] = {"<3>", "<4>", "<5>", "<6>", "<7>"};

	return self.is_journal ? marks[level - LOG_LEVEL_ERROR] : "";
}

/* Writes "?" over what is no character, or acts on the terminal. */
static void clean(char *text, size_t size)
{
	uint32_t code;

	for (size_t i = 0, step; i < size; i += step) {
		step = utf8_size((const uint8_t *)text + i, size - i, &code);
		if (step && !utf8_is_control(code))
			continue;
		step = step ? step : 1;
		memset(text + i, '?', step);
	}
}

void log_write(enum log_level level, const char *format, ...)
{
	const int saved = errno;
	char line[LOG_LINE_MAX];
	va_list arguments;

	if (!log_shows(level))
		return;
	const size_t begin =
		(size_t)snprintf(line, sizeof(line), "%s%s: ", log_mark(level), self.name);
	va_start(arguments, format);
	errno = saved; /* `format` may have %m */
	vsnprintf(line + begin, sizeof(line) - begin, format, arguments);
	va_end(arguments);
	size_t size = begin + strlen(line + begin);
	clean(line + begin, size - begin);
	line[size++] = '\n';
	ssize_t written = write(STDERR_FILENO, line, size);
	(void)written;
	errno = saved;
}
