#include "user_keys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "key_file.h"

#include "base/array.h"
#include "base/error_text.h"
#include "base/log.h"

struct user {
	char name[USER_KEYS_NAME_MAX + 1], key[KEY_SET_TEXT];
};

struct user_list {
	struct user *users; /* owns; by key once it is read */
	uint32_t nr_users, room;
};

struct user_keys {
	char *path; /* owns */
	struct user_list list;
	struct stat seen; /* of the file as it was last looked at */
	uint64_t looked_ns;
};

static bool is_name(const char *name)
{
	size_t size = strlen(name);

	for (const char *at = name; *at; at++)
		if (*at <= ' ' || *at >= 0x7f || *at == '*')
			return false;
	return size > 0 && size <= USER_KEYS_NAME_MAX && *name != '#';
}

static int take_line(void *context, const char *name, const char *value, const char **why)
{
	struct user_list *list = context;

	*why = "not a user's name";
	if (!is_name(name))
		return -EINVAL;
	*why = "not a key of 40 characters";
	if (!key_set_is_key(value))
		return -EINVAL;
	*why = strerror(ENOMEM);
	if (array_reserve(&list->users, &list->room, (uint64_t)list->nr_users + 1,
			  sizeof(*list->users)))
		return -ENOMEM;
	struct user *user = &list->users[list->nr_users++];
	strcpy(user->name, name);
	strcpy(user->key, value);
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct user *)a)->key, ((const struct user *)b)->key);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

/* Sorts the users by name and then by key. Returns 0; -EINVAL: *twice is a user whose name or key is there twice. */
static int sort(struct user_list *list, const char **twice)
{
	int (*const orders[])(const void *, const void *) = {compare_names, compare_keys};

	for (size_t order = 0; order < 2 && list->nr_users; order++) {
		qsort(list->users, list->nr_users, sizeof(*list->users), orders[order]);
		for (uint32_t i = 1; i < list->nr_users; i++) {
			*twice = list->users[i].name;
			if (orders[order](&list->users[i - 1], &list->users[i]) == 0)
				return -EINVAL;
		}
	}
	return 0;
}

static int read_list(const char *path, struct user_list *list, char **error)
{
	const char *twice;
	int r = key_file_read(path, TRUSTED_FILE_PUBLIC, take_line, list, error);

	if (r == 0 && sort(list, &twice))
		r = error_text_set(error, -EINVAL, "%s: the user %s, or the key, is there twice",
				   path, twice);
	if (r) {
		free(list->users);
		*list = (struct user_list){0};
	}
	return r;
}

int user_keys_open(const char *path, struct user_keys **users, char **error)
{
	struct user_keys *new = calloc(1, sizeof(*new));

	*users = NULL;
	*error = NULL;
	if (!new || !(new->path = strdup(path))) {
		free(new);
		return -ENOMEM;
	}
	/* What is written from here on is a change. */
	int r = stat(path, &new->seen) < 0
			? error_text_set(error, -errno, "%s: %s", path, strerror(errno))
			: read_list(path, &new->list, error);
	if (r) {
		user_keys_close(new);
		return r;
	}
	*users = new;
	return 0;
}

void user_keys_close(struct user_keys *users)
{
	if (!users)
		return;
	free(users->list.users);
	free(users->path);
	free(users);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void read_again(struct user_keys *users)
{
	struct user_list list = {0};
	struct stat now;
	char *error = NULL;

	if (stat(users->path, &now) < 0) {
		if (users->seen.st_ino)
			log_warning("%s: %s; its users stay as they were", users->path,
				    strerror(errno));
		users->seen = (struct stat){0};
		return;
	}
	if (is_same(&users->seen, &now))
		return;
	users->seen = now;
	if (read_list(users->path, &list, &error)) {
		log_warning("%s; its users stay as they were", error ? error : strerror(ENOMEM));
		free(error);
		return;
	}
	free(users->list.users);
	users->list = list;
}

const char *user_keys_find(struct user_keys *users, const char *public_key, uint64_t now_ns)
{
	struct user wanted = {0};

	if (now_ns - users->looked_ns >= USER_KEYS_LOOK_NS) {
		users->looked_ns = now_ns;
		read_again(users);
	}
	if (users->list.nr_users == 0 || !key_set_is_key(public_key))
		return NULL;
	strcpy(wanted.key, public_key);
	const struct user *found = bsearch(&wanted, users->list.users, users->list.nr_users,
					   sizeof(wanted), compare_keys);
	return found ? found->name : NULL;
}

static int write_list(const char *path, const struct user_list *list)
{
	char *temporary;
	FILE *file;
	int r = key_file_replace(path, &file, &temporary);

	if (r)
		return r;
	fputs("# Public keys of the users that may send to Flamegrid's aggregator.\n", file);
	for (uint32_t i = 0; i < list->nr_users; i++)
		fprintf(file, "%s %s\n", list->users[i].name, list->users[i].key);
	fchmod(fileno(file), 0644);
	return key_file_finish(path, file, temporary);
}

int user_keys_add(const char *path, const char *user, const char *public_key, char **error)
{
	struct user_list list = {0};
	const char *why = "";
	struct stat stat;
	int r = 0;

	*error = NULL;
	if (lstat(path, &stat) == 0)
		r = read_list(path, &list, error);
	else if (errno != ENOENT)
		r = -errno;
	for (uint32_t i = 0; r == 0 && i < list.nr_users; i++)
		if (strcmp(list.users[i].name, user) == 0)
			r = error_text_set(error, -EEXIST, "%s: %s has a key already", path, user);
	if (r == 0) {
		r = take_line(&list, user, public_key, &why);
		if (r)
			error_text_set(error, r, "%s: %s", user, why);
	}
	if (r == 0)
		qsort(list.users, list.nr_users, sizeof(*list.users), compare_names);
	if (r == 0)
		r = write_list(path, &list);
	free(list.users);
	return r ? error_text_set(error, r, "%s: %s", path, strerror(-r)) : 0;
}
