#include "newest_profile.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "output_dir.h"

#include "base/clock.h"

#define NS_PER_S 1000000000ull

/* Times before 1970 are the oldest. */
static uint64_t time_of(const struct stat *status)
{
	if (status->st_mtim.tv_sec < 0)
		return 0;
	return (uint64_t)status->st_mtim.tv_sec * NS_PER_S + (uint64_t)status->st_mtim.tv_nsec;
}

/* A live profile's newest pages are in the store's log. */
static bool read_time(const char *store, uint64_t *time_ns)
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

/* Writes the path of the entry's store, if its name may be a profile's. */
static bool store_of(const char *path, const char *name, char store[static PATH_MAX])
{
	int size;

	if (strcmp(name, OUTPUT_STORE) == 0)
		size = snprintf(store, PATH_MAX, "%s", path);
	else if (strncmp(name, OUTPUT_DEFAULT, strlen(OUTPUT_DEFAULT)) == 0)
		size = snprintf(store, PATH_MAX, "%s/" OUTPUT_STORE, path);
	else
		return false;
	return size > 0 && size < PATH_MAX;
}

uint32_t newest_profile_find(const char *directory, char path[static PATH_MAX], uint64_t *age_s)
{
	bool is_here = strcmp(directory, ".") == 0;
	uint64_t time_ns, newest_ns = 0, now_ns = clock_realtime_ns();
	const struct dirent *entry;
	DIR *entries = opendir(directory);
	uint32_t nr = 0;

	*path = '\0';
	*age_s = 0;
	while (entries && (entry = readdir(entries)) != NULL) {
		char store[PATH_MAX], found[PATH_MAX];

		if (snprintf(found, sizeof(found), "%s%s%s", is_here ? "" : directory,
			     is_here ? "" : "/", entry->d_name) >= PATH_MAX ||
		    !store_of(found, entry->d_name, store) || !read_time(store, &time_ns))
			continue;
		if (nr++ &&
		    (time_ns < newest_ns || (time_ns == newest_ns && strcmp(found, path) > 0)))
			continue;
		newest_ns = time_ns;
		memcpy(path, found, sizeof(found));
	}
	if (entries)
		closedir(entries);
	if (nr)
		*age_s = now_ns > newest_ns ? (now_ns - newest_ns) / NS_PER_S : 0;
	return nr;
}

const char *newest_profile_age(uint64_t age_s, char text[static NEWEST_PROFILE_AGE_SIZE])
{
	static const struct {
		uint64_t s;
		const char *name;
	} units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
	size_t i = 0;

	while (i < 3 && age_s < units[i].s)
		i++;
	uint64_t count = age_s / units[i].s;
	snprintf(text, NEWEST_PROFILE_AGE_SIZE, "%" PRIu64 " %s%s ago", count, units[i].name,
		 count == 1 ? "" : "s");
	return text;
}
