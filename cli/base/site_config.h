/* Reads a site's defaults for the options of `flamegrid run`: /etc/flamegrid.conf, or the file that $FLAMEGRID_CONFIG
 * names. A line is `NAME VALUE`, `NAME = VALUE`, or NAME alone; NAME is a long option without dashes. A comment begins
 * with a # at the start of a line or after a blank. Single-threaded. */
#ifndef SITE_CONFIG_H
#define SITE_CONFIG_H

#include <limits.h>
#include <stddef.h>

#define SITE_CONFIG_PATH "/etc/flamegrid.conf"
#define SITE_CONFIG_ENV  "FLAMEGRID_CONFIG"
#define SITE_CONFIG_MAX  64u /* settings */
#define SITE_CONFIG_TEXT 16384u

struct site_config_setting {
	const char *name, *value; /* both lie in the config; value NULL: none */
	unsigned int line;
};

struct site_config {
	char path[PATH_MAX]; /* "": there is no such file */
	struct site_config_setting settings[SITE_CONFIG_MAX];
	size_t nr;
	char text[SITE_CONFIG_TEXT];
};

/* Reads the file that is in force. It does not check whether `run` knows the names. The file must be a regular file of
 * root or of this user that no other user can write. 0, also if /etc/flamegrid.conf does not exist; -errno: *error is
 * one line that names the file and the line, which the caller owns (free()). */
int site_config_read(struct site_config *config, char **error);

#endif
