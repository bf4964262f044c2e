#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Returns the bytes of a control character in UTF-8, or of a mark that changes the direction of text; 0: it is none.
 * The text ends with NUL. */
static size_t size_of_control(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	if (*at < ' ' || *at == 0x7f)
		return 1;
	if ((at[0] == 0xc2 && (at[1] & 0xe0) == 0x80) || (at[0] == 0xd8 && at[1] == 0x9c))
		return 2;
	if (at[0] != 0xe2)
		return 0;
	return (at[1] == 0x80 &&
		(at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae))) ||
			       (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9)
		       ? 3
		       : 0;
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
	for (size_t i = begin; i < size; i++)
		memset(line + i, '?', size_of_control(line + i));
	line[size++] = '\n';
	ssize_t written = write(STDERR_FILENO, line, size);
	(void)written;
	errno = saved;
}
