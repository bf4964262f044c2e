#include "profile_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output_dir.h"

#include "base/array.h"

#define NS_PER_S 1000000000ull

/* Times before 1970 are the oldest. */
static uint64_t time_of(const struct stat *status)
{
	if (status->st_mtim.tv_sec < 0)
		return 0;
	return (uint64_t)status->st_mtim.tv_sec * NS_PER_S + (uint64_t)status->st_mtim.tv_nsec;
}

bool profile_list_time(const char *store, uint64_t *time_ns)
{
	char log[PATH_MAX];
	struct stat status;

	if (stat(store, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	*time_ns = time_of(&status);
	if (snprintf(log, sizeof(log), "%s-wal", store) < (int)sizeof(log) &&
	    stat(log, &status) == 0 && status.st_size > 0) {
		uint64_t log_ns = time_of(&status);

		*time_ns = log_ns > *time_ns ? log_ns : *time_ns;
	}
	return true;
}

/* Writes the path of the store that the entry is, or that it has if it is a directory. */
static bool store_of(const char *path, const char *name, char store[static PATH_MAX])
{
	int size;

	if (strcmp(name, OUTPUT_STORE) == 0)
		size = snprintf(store, PATH_MAX, "%s", path);
	else if (*name != '.')
		size = snprintf(store, PATH_MAX, "%s/" OUTPUT_STORE, path);
	else
		return false;
	return size > 0 && size < PATH_MAX;
}

static int newest_first(const void *a, const void *b)
{
	const struct listed_profile *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

struct listed_profile *profile_list(const char *directory, uint32_t *nr)
{
	const bool is_here = strcmp(directory, ".") == 0;
	struct listed_profile *all = NULL;
	const struct dirent *entry;
	DIR *entries = opendir(directory);
	uint32_t room = 0;

	*nr = 0;
	while (entries && (entry = readdir(entries)) != NULL) {
		if (array_reserve(&all, &room, *nr + 1ull, sizeof(*all)))
			break;
		struct listed_profile *found = &all[*nr];

		if (snprintf(found->path, sizeof(found->path), "%s%s%s", is_here ? "" : directory,
			     is_here ? "" : "/", entry->d_name) < PATH_MAX &&
		    store_of(found->path, entry->d_name, found->store) &&
		    profile_list_time(found->store, &found->time_ns))
			++*nr;
	}
	if (entries)
		closedir(entries);
	if (*nr)
		qsort(all, *nr, sizeof(*all), newest_first);
	return all;
}
