#include "key_set.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key_file.h"

#include "base/error_text.h"

static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  ".-:+=^!/*?&<>()[]{}@%$#";

static const struct {
	const char *name;
	size_t offset;
	bool needed[3]; /* by role */
} members[] = {
	{"server-public", offsetof(struct key_set, server_public), {true, true, true}},
	{"server-secret", offsetof(struct key_set, server_secret), {true, false, false}},
	{"client-public", offsetof(struct key_set, client_public), {true, true, false}},
	{"client-secret", offsetof(struct key_set, client_secret), {false, true, false}},
};
#define NR_MEMBERS (sizeof(members) / sizeof(*members))

static const char *member(const struct key_set *keys, size_t i)
{
	return (const char *)keys + members[i].offset;
}

bool key_set_is_key(const char *text)
{
	return strlen(text) == KEY_SET_TEXT - 1 && strspn(text, z85) == KEY_SET_TEXT - 1;
}

/* NULL: none. */
static const char *missing(const struct key_set *keys, enum key_role role)
{
	for (size_t i = 0; i < NR_MEMBERS; i++)
		if (members[i].needed[role] && !key_set_is_key(member(keys, i)))
			return members[i].name;
	return NULL;
}

bool key_set_serves(const struct key_set *keys, enum key_role role)
{
	if (role == KEY_ROLE_PUBLIC &&
	    (*keys->server_secret || *keys->client_public || *keys->client_secret))
		return false;
	return !missing(keys, role);
}

int key_set_take(struct key_set *keys, const char *name, const char *value, const char **why)
{
	for (size_t i = 0; i < NR_MEMBERS; i++) {
		char *to = (char *)keys + members[i].offset;

		if (strcmp(name, members[i].name) != 0)
			continue;
		*why = *to ? "is there twice" : "not a key of 40 characters";
		if (*to || !key_set_is_key(value))
			return -EINVAL;
		memcpy(to, value, KEY_SET_TEXT);
		return 0;
	}
	return -ENOENT;
}

static int take_line(void *context, const char *name, const char *value, const char **why)
{
	return key_set_take(context, name, value, why);
}

static int read_keys(const char *path, enum trusted_file_kind kind, enum key_role role,
		     struct key_set *keys, char **error)
{
	const enum key_role other = role == KEY_ROLE_AGENT ? KEY_ROLE_AGGREGATOR : KEY_ROLE_AGENT;
	const char *name;
	int status;

	memset(keys, 0, sizeof(*keys));
	status = key_file_read(path, kind, take_line, keys, error);
	name = status == 0 ? missing(keys, role) : NULL;
	if (name)
		status = error_text_set(error, -EINVAL, "%s: %s is missing%s", path, name,
					!key_set_serves(keys, other) ? ""
					: other == KEY_ROLE_AGENT
						? ": this is an agent's file"
						: ": this is an aggregator's file");
	if (status)
		memset(keys, 0, sizeof(*keys));
	return status;
}

int key_set_read(const char *path, enum key_role role, struct key_set *keys, char **error)
{
	return read_keys(path, TRUSTED_FILE_SECRET, role, keys, error);
}

/* Reads a file that has the aggregator's public key alone. false: it is another one, or cannot be used. */
static bool read_public(const char *path, struct key_set *keys)
{
	char *error;
	int status = read_keys(path, TRUSTED_FILE_PUBLIC, KEY_ROLE_PUBLIC, keys, &error);

	free(error);
	if (status == 0 && key_set_serves(keys, KEY_ROLE_PUBLIC))
		return true;
	memset(keys, 0, sizeof(*keys));
	return false;
}

int key_set_read_shared(const char *path, struct key_set *keys, char **error)
{
	*error = NULL;
	return read_public(path, keys)
		       ? 0
		       : read_keys(path, TRUSTED_FILE_SHARED, KEY_ROLE_AGENT, keys, error);
}

void key_set_print(const struct key_set *keys, enum key_role role, FILE *file)
{
	for (size_t i = 0; i < NR_MEMBERS; i++)
		if (members[i].needed[role])
			fprintf(file, "%s %s\n", members[i].name, member(keys, i));
}

int key_set_write(const char *path, enum key_role role, const struct key_set *keys)
{
	static const char *const heads[] = {
		[KEY_ROLE_AGGREGATOR] = "Keys of Flamegrid's aggregator. Whoever can read this can "
					"take its place.",
		[KEY_ROLE_AGENT] =
			"Keys of Flamegrid's agents. Whoever can read this can send to it.",
		[KEY_ROLE_PUBLIC] =
			"The public key of Flamegrid's aggregator. Everybody may read this.",
	};
	FILE *file;
	int status = key_file_create(path, &file);

	if (status)
		return status;
	if (role == KEY_ROLE_PUBLIC && fchmod(fileno(file), 0644) < 0)
		status = -errno;
	fprintf(file, "# %s\n", heads[role]);
	key_set_print(keys, role, file);
	int finished = key_file_finish(path, file, NULL);

	if (status == 0 || finished)
		return finished;
	unlink(path);
	return status;
}

void key_set_proof(const char *server_public, const char *client_public,
		   char text[static KEY_SET_PROOF])
{
	snprintf(text, KEY_SET_PROOF, "flamegrid %s %s", server_public, client_public);
}
