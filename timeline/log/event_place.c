#include "event_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_TEXT  (2 * EVENT_FORMAT_ID + 1)
#define NS_PER_S UINT64_C(1000000000)

int event_place_beside(const char *store_path, char folder[static PATH_MAX])
{
	return snprintf(folder, PATH_MAX, "%s" EVENT_FORMAT_FOLDER, store_path) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

int event_place_by_id(const char *store_path, const uint8_t *id, char folder[static PATH_MAX])
{
	const char *slash = strrchr(store_path, '/'), *name = slash ? slash + 1 : store_path;
	const char *end = strstr(name, EVENT_PLACE_PART);
	const int size = (int)(end ? (size_t)(end - store_path) : strlen(store_path));
	char text[ID_TEXT];

	for (uint32_t i = 0; i < EVENT_FORMAT_ID; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", id[i]);
	return snprintf(folder, PATH_MAX, "%.*s" EVENT_PLACE_PART "%s" EVENT_FORMAT_FOLDER, size,
			store_path, text) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

int event_place_find(const char *store_path, const uint8_t *id, char folder[static PATH_MAX])
{
	if (id) {
		int error = event_place_by_id(store_path, id, folder);

		if (error || access(folder, F_OK) == 0)
			return error;
	}
	return event_place_beside(store_path, folder);
}

/* "profile.db.timeline", "profile.db.part-1.timeline" */
static bool is_of(const char *name, const char *store_name)
{
	static const char part[] = EVENT_PLACE_PART, suffix[] = EVENT_FORMAT_FOLDER;
	const size_t store = strlen(store_name), size = strlen(name);

	if (size < store + strlen(suffix) || strncmp(name, store_name, store) != 0 ||
	    strcmp(name + size - strlen(suffix), suffix) != 0)
		return false;
	return size == store + strlen(suffix) || strncmp(name + store, part, strlen(part)) == 0;
}

/* Adds when a folder was changed. */
static void add_change(int directory, const char *name, uint64_t *changed_ns)
{
	struct stat status;

	if (fstatat(directory, name, &status, 0) == 0)
		*changed_ns += (uint64_t)status.st_mtim.tv_sec * NS_PER_S +
			       (uint64_t)status.st_mtim.tv_nsec + 1;
}

bool event_place_has(const char *store_path, uint64_t *changed_ns)
{
	const char *slash = strrchr(store_path, '/'), *name = slash ? slash + 1 : store_path;
	char directory[PATH_MAX];
	const struct dirent *entry;
	bool is_there = false;

	*changed_ns = 0;
	if (snprintf(directory, sizeof(directory), "%.*s.", (int)(name - store_path), store_path) >=
	    (int)sizeof(directory))
		return false;
	DIR *files = opendir(directory);

	while (files && (entry = readdir(files)) != NULL) {
		if (!is_of(entry->d_name, name))
			continue;
		is_there = true;
		add_change(dirfd(files), entry->d_name, changed_ns);
	}
	if (files)
		closedir(files);
	return is_there;
}

int event_place_move(const char *from, const char *to)
{
	return rename(from, to) && errno != ENOENT ? -errno : 0;
}

void event_place_remove(int directory, const char *folder)
{
	const size_t suffix = strlen(EVENT_FORMAT_SUFFIX);
	int fd = openat(directory, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (files && (entry = readdir(files)) != NULL) {
		const size_t size = strlen(entry->d_name);

		if (size > suffix && !strcmp(entry->d_name + size - suffix, EVENT_FORMAT_SUFFIX))
			unlinkat(fd, entry->d_name, 0);
	}
	if (files)
		closedir(files);
	else if (fd >= 0)
		close(fd);
	unlinkat(directory, folder, AT_REMOVEDIR);
}
