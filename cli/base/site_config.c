#include "site_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config_line.h"
#include "base/error_text.h"
#include "proto/trust/trusted_file.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-"

static int read_all(struct site_config *config, int fd, char **error)
{
	size_t used = 0;
	ssize_t size;

	while ((size = read(fd, config->text + used, SITE_CONFIG_TEXT - 1 - used)) != 0) {
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return error_text_set(error, -errno, "%s: %s", config->path,
					      strerror(errno));
		used += (size_t)size;
		if (used == SITE_CONFIG_TEXT - 1)
			return error_text_set(error, -EFBIG, "%s: larger than %u bytes",
					      config->path, SITE_CONFIG_TEXT - 2);
	}
	config->text[used] = '\0';
	if (strlen(config->text) < used)
		return error_text_set(error, -EINVAL, "%s: not a text", config->path);
	return 0;
}

static int take_line(struct site_config *config, char *line, unsigned int number, char **error)
{
	struct site_config_setting *setting = &config->settings[config->nr];
	char *name = line + strspn(line, CONFIG_LINE_BLANKS), *value;
	size_t size = strspn(name, NAME_CHARS);

	config_line_cut_comment(name);
	if (!*name)
		return 0;
	value = name + size + strspn(name + size, CONFIG_LINE_BLANKS);
	if (size == 0 || *name == '-' || (name[size] && value == name + size && *value != '='))
		return error_text_set(
			error, -EINVAL, "%s: line %u: %.*s: not NAME VALUE or NAME = VALUE",
			config->path, number, (int)strcspn(name, CONFIG_LINE_BLANKS), name);
	if (config->nr == SITE_CONFIG_MAX)
		return error_text_set(error, -EINVAL, "%s: line %u: more than %u settings",
				      config->path, number, SITE_CONFIG_MAX);
	if (*value == '=')
		value += 1 + strspn(value + 1, CONFIG_LINE_BLANKS);
	name[size] = '\0';
	config_line_cut_blanks(value);
	*setting = (struct site_config_setting){name, *value ? value : NULL, number};
	config->nr++;
	return 0;
}

static int take_lines(struct site_config *config, char **error)
{
	char *next = config->text;
	int status = 0;

	for (unsigned int number = 1; next && status == 0; number++) {
		char *line = next;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		status = take_line(config, line, number, error);
	}
	return status;
}

int site_config_read(struct site_config *config, char **error)
{
	const char *named = getenv(SITE_CONFIG_ENV);
	const char *path = named && *named ? named : SITE_CONFIG_PATH;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), status;

	*config->path = '\0';
	config->nr = 0;
	*error = NULL;
	if (fd < 0 && errno == ENOENT && path != named)
		return 0;
	if (fd < 0)
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	if (snprintf(config->path, sizeof(config->path), "%s", path) >= (int)sizeof(config->path))
		status = error_text_set(error, -ENAMETOOLONG, "%s: too long a name", path);
	else
		status = trusted_file_check(fd, path, TRUSTED_FILE_PUBLIC, error);
	if (status == 0)
		status = read_all(config, fd, error);
	close(fd);
	return status ? status : take_lines(config, error);
}
