/* A site's defaults for the options of `flamegrid run`: /etc/flamegrid.conf, or the file that $FLAMEGRID_CONFIG names.
 * `NAME VALUE` or `NAME = VALUE` a line, or NAME alone; NAME is a long option without dashes; from a # at the start of
 * a line or behind a blank on is a comment. Single-threaded. */
#ifndef SITE_CONFIG_H
#define SITE_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define SITE_CONFIG_PATH "/etc/flamegrid.conf"
#define SITE_CONFIG_ENV  "FLAMEGRID_CONFIG"
#define SITE_CONFIG_MAX  64u /* settings */
#define SITE_CONFIG_TEXT 16384u

struct site_config_setting {
	const char *name, *value; /* value: NULL: none. Both are in the config */
	unsigned int line;
};

struct site_config {
	char path[PATH_MAX]; /* "": there is no such file */
	struct site_config_setting settings[SITE_CONFIG_MAX];
	size_t nr;
	char text[SITE_CONFIG_TEXT];
};

/* Reads the file that is in force. Whether `run` knows the names is not looked at. It must be a regular file of root's
 * or this user's that nobody else can write. 0, also where /etc/flamegrid.conf is not there; -errno, with *error one
 * line that names the file and the line, owns: free(). */
int site_config_read(struct site_config *config, char **error);

#endif
