#include "agent_sockets.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach_point.h"
#include "target_process.h"

#include "base/array.h"
#include "proto/attach.h"
#include "proto/handshake.h"

static int add(struct agent_sockets *sockets, const char *path)
{
	char *copy = strdup(path);
	int result = copy ? array_append(&sockets->paths, &sockets->count, &copy, sizeof(copy))
			  : -ENOMEM;

	if (result)
		free(copy);
	return result;
}

/* A dormant process has an agent only while `attach` runs. */
static int add_of_process(struct agent_sockets *sockets, pid_t pid)
{
	struct target_process target;
	char attached[108];
	int result = target_process_init(&target, pid);

	if (result < 0)
		return result;
	const char *socket = target_process_variable(&target, HANDSHAKE_SOCKET_ENV);
	if (attach_point_path(&target, attached) == 0 && access(attached, F_OK) == 0)
		result = add(sockets, attached);
	if (result == 0 && socket)
		result = add(sockets, socket);
	target_process_fini(&target);
	return result;
}

static bool is_ours(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) &&
	       (status.st_uid == geteuid() || geteuid() == 0);
}

/* Two folders may be the same one, or links to it. */
static bool is_known(const struct agent_sockets *sockets, const char *path)
{
	struct stat status, known;

	if (stat(path, &status) < 0)
		return true; /* the process has just ended */
	for (size_t i = 0; i < sockets->count; i++)
		if (stat(sockets->paths[i], &known) == 0 && known.st_dev == status.st_dev &&
		    known.st_ino == status.st_ino)
			return true;
	return false;
}

/* Adds the sockets that private_dir.h and attach.h make. */
static int add_all(struct agent_sockets *sockets)
{
	const char *const folders[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	glob_t found = {0};
	int result = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char pattern[PATH_MAX];

		if (!folders[i] || folders[i][0] != '/')
			continue;
		snprintf(pattern, sizeof(pattern), "%s/flamegrid-*/" ATTACH_SOCKET, folders[i]);
		glob(pattern, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
	}
	for (size_t i = 0; i < found.gl_pathc && result == 0; i++)
		if (is_ours(found.gl_pathv[i]) && !is_known(sockets, found.gl_pathv[i]))
			result = add(sockets, found.gl_pathv[i]);
	globfree(&found);
	return result;
}

int agent_sockets_find(const char *path, pid_t pid, struct agent_sockets *sockets)
{
	const char *own = getenv(HANDSHAKE_SOCKET_ENV);
	int result;

	*sockets = (struct agent_sockets){0};
	if (path)
		result = add(sockets, path);
	else if (pid)
		result = add_of_process(sockets, pid);
	else if (own && *own)
		result = add(sockets, own);
	else
		result = add_all(sockets);
	return result == 0 && sockets->count == 0 ? -ENOENT : result;
}

void agent_sockets_drop(struct agent_sockets *sockets, size_t index)
{
	free(sockets->paths[index]);
	sockets->count--;
	memmove(&sockets->paths[index], &sockets->paths[index + 1],
		(sockets->count - index) * sizeof(*sockets->paths));
}

void agent_sockets_fini(struct agent_sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++)
		free(sockets->paths[i]);
	free(sockets->paths);
	*sockets = (struct agent_sockets){0};
}
