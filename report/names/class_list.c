#include "class_list.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config_line.h"
#include "base/error_text.h"
#include "report/names/kernel_class.h"

#define LINE_SIZE 4096u /* bytes, with the newline */

static int take_line(const char *path, unsigned int number, char *line, char **error)
{
	char *word = line + strspn(line, CONFIG_LINE_BLANKS), *pattern, *why;
	const size_t size = strcspn(word, CONFIG_LINE_BLANKS);

	config_line_cut_comment(line);
	if (!*word)
		return 0;
	pattern = word + size;
	config_line_cut_blanks(pattern);
	if (!*pattern)
		return error_text_set(error, -EINVAL, "%s: line %u: %s: not CLASS PATTERN", path,
				      number, word);
	*pattern++ = '\0';
	int status = kernel_class_add(word, pattern + strspn(pattern, CONFIG_LINE_BLANKS), &why);
	if (status < 0)
		error_text_set(error, status, "%s: line %u: %s", path, number,
			       why ? why : strerror(-status));
	free(why);
	return status;
}

static int take_lines(const char *path, FILE *file, char **error)
{
	char line[LINE_SIZE];
	int status = 0;
	long at = 0; /* where the line begins */

	for (unsigned int number = 1; status == 0 && fgets(line, sizeof(line), file); number++) {
		const long size = ftell(file) - at;

		at += size;
		if (size != (long)strlen(line))
			status = error_text_set(error, -EINVAL, "%s: line %u: has a NUL", path,
						number);
		else if (size == LINE_SIZE - 1)
			status = error_text_set(error, -EINVAL, "%s: line %u: longer than %u bytes",
						path, number, LINE_SIZE - 2);
		else
			status = take_line(path, number, line, error);
	}
	if (status == 0 && ferror(file))
		status = error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	return status;
}

static int take_file(const char *path, bool must_exist, char **error)
{
	struct stat status;
	FILE *file = NULL;

	/* Opening a pipe would wait for its writer. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return error_text_set(error, -EINVAL, "%s: not a regular file", path);
	file = fopen(path, "re");
	if (!file && (errno == ENOENT || errno == ENOTDIR) && !must_exist)
		return 0;
	if (!file)
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	int result = take_lines(path, file, error);
	fclose(file);
	return result;
}

static int take_own(char **error)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];
	int size = -1;

	if (config && *config == '/') /* others are to be ignored, as the standard has it */
		size = snprintf(path, sizeof(path), "%s/" CLASS_LIST_OWN, config);
	else if (home && *home)
		size = snprintf(path, sizeof(path), "%s/.config/" CLASS_LIST_OWN, home);
	return size > 0 && size < (int)sizeof(path) ? take_file(path, false, error) : 0;
}

int class_list_read(char **error)
{
	const char *named = getenv(CLASS_LIST_ENV);
	int status = 0;

	*error = NULL;
	kernel_class_forget();
	if (named && *named)
		status = take_file(named, true, error);
	if (!named)
		status = take_own(error);
	if (!named && status == 0)
		status = take_file(CLASS_LIST_SITE, false, error);
	if (status < 0)
		kernel_class_forget();
	return status;
}
