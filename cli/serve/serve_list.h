/* The profiles that `serve` shows, and the page that lists them. One thread. */
#ifndef SERVE_LIST_H
#define SERVE_LIST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SERVE_LIST_ID       17u         /* bytes, with the NUL */
#define SERVE_LIST_APART_NS 1000000000u /* from one look at the directories to the next */

struct served_profile {
	char id[SERVE_LIST_ID]; /* of the path: the same each time */
	char path[PATH_MAX], store[PATH_MAX];
	uint64_t time_ns;    /* CLOCK_REALTIME; when something wrote to it last */
	uint64_t changed_ns; /* another value once its store or its timeline has changed */
	bool is_live;        /* a process writes it */
	bool has_timeline;
	bool is_commanded; /* `flamegrid control` reaches its job */
};

struct serve_list;

/* paths: directories with profiles, or profiles; borrowed until destroy. most: profiles of each. NULL: out of memory.
 * destroy() accepts NULL. */
struct serve_list *serve_list_create(const char *const *paths, uint32_t nr_paths, uint32_t most);
void serve_list_destroy(struct serve_list *list);

/* Returns the profile with this id; NULL: there is none. Borrowed until the next call. */
const struct served_profile *serve_list_find(struct serve_list *list, const char *id, size_t size);

/* Returns the profile if there is exactly one; else NULL. Borrowed until the next call. */
const struct served_profile *serve_list_only(struct serve_list *list);

/* Writes what a file that is made of the profile is called: the name of its directory, with '-' in place of all but
 * letters, digits and "._", and of 64 bytes at most. */
void serve_list_write_name(const struct served_profile *profile, FILE *out);

/* Writes the page. key: what a form that opens a window sends; NULL: there is none. The caller owns *body (free()). 0
 * or -ENOMEM. */
int serve_list_write(struct serve_list *list, const char *key, char **body, size_t *size);

#endif
