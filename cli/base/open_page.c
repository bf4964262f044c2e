#include "open_page.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output_dir.h"

#include "base/log.h"

extern char **environ;

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Writes the page's whole path. 0 or -errno. */
static int find_page(const char *profile_path, char page[static PATH_MAX])
{
	char store[PATH_MAX], given[PATH_MAX];
	const char *path = output_dir_store(profile_path, store);
	const char *slash = strrchr(path, '/');
	int size = snprintf(given, sizeof(given), "%.*s" OUTPUT_HTML,
			    slash ? (int)(slash - path) + 1 : 0, path);

	if (size < 0 || size >= (int)sizeof(given))
		return -ENAMETOOLONG;
	struct stat status;
	if (!realpath(given, page) || stat(page, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EISDIR;
	return access(page, R_OK) == 0 ? 0 : -errno;
}

/* Prints text so that a shell takes it for one word. */
static void print_quoted(const char *text)
{
	if (!text[strcspn(text, " \t\"'\\$`&|;<>()*?[]#~!{}\n")]) {
		fputs(text, stdout);
		return;
	}
	/* Control characters would reach the terminal. */
	fputs("$'", stdout);
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f || *text == '\'' || *text == '\\')
			printf("\\%03o", (unsigned char)*text);
		else
			putchar(*text);
	putchar('\'');
}

static void print_copy(const char *page)
{
	char host[HOST_NAME_MAX + 1] = "HOST";
	char remote[PATH_MAX + HOST_NAME_MAX + 2];

	gethostname(host, sizeof(host) - 1);
	snprintf(remote, sizeof(remote), "%s:%s", host, page);
	fputs("scp ", stdout);
	print_quoted(remote);
	fputs(" .\n", stdout);
}

/* 0, or -errno: xdg-open could not be started, or failed. */
static int call_browser(const char *page)
{
	char *command[] = {(char *)"xdg-open", (char *)(uintptr_t)page, NULL};
	pid_t pid;
	int status, result = posix_spawnp(&pid, command[0], NULL, NULL, command, environ);

	if (result)
		return -result;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

int open_page(const char *profile_path)
{
	char page[PATH_MAX];
	int result = find_page(profile_path, page);

	if (result < 0) {
		log_error("%s: no page (" OUTPUT_HTML "): %s%s", profile_path, strerror(-result),
			  result == -ENOENT ? "; flamegrid report --files PROFILE writes it" : "");
		return result;
	}
	if (!is_set("SSH_CONNECTION") && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))) {
		if (call_browser(page) == 0)
			return 0;
		log_notice("xdg-open could not open file://%s", page);
	}
	log_notice("this copies the page to your own machine, where a browser opens it:");
	print_copy(page);
	return 0;
}
