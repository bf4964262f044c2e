#include "cell_origin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell_format.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/log/event_place.h"
#include "timeline/trace/timeline_source.h"

static int is_file(const struct dirent *entry)
{
	return event_reader_number(entry->d_name) != 0;
}

/* In the order of the files' numbers, however the folder has them. Returns 0 if there is none. */
static uint64_t add_files(uint64_t checksum, const char *folder)
{
	struct dirent **entries = NULL;
	const int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int nr = directory < 0 ? 0 : scandirat(directory, ".", &entries, is_file, alphasort);

	for (int i = 0; i < nr; i++) {
		struct stat status = {0};

		(void)fstatat(directory, entries[i]->d_name, &status, AT_SYMLINK_NOFOLLOW);
		const uint64_t file[] = {event_reader_number(entries[i]->d_name),
					 (uint64_t)status.st_size};

		checksum = checksum_add(checksum, file, sizeof(file));
		free(entries[i]);
	}
	free(entries);
	if (directory >= 0)
		close(directory);
	return nr > 0 ? checksum : 0;
}

static uint64_t add_clocks(uint64_t checksum, const struct clock_map *map, uint32_t nr_hosts)
{
	for (uint32_t host = 1; map && host <= nr_hosts; host++) {
		uint32_t nr;
		const struct clock_offset *offsets = clock_map_host(map, host, &nr);

		for (uint32_t i = 0; i < nr; i++) {
			const uint64_t offset[] = {
				host, offsets[i].time_ns, (uint64_t)offsets[i].offset_ns,
				offsets[i].bound_ns, (uint64_t)offsets[i].realtime_offset_ns};

			checksum = checksum_add(checksum, offset, sizeof(offset));
		}
	}
	return checksum;
}

static uint64_t add_names(uint64_t checksum, const struct collection *collection)
{
	const struct roster_size size = roster_size(collection->roster);
	const struct catalog_size names = catalog_size(collection->catalog);
	const uint32_t sizes[] = {size.processes, size.hosts, size.devices, names.strings,
				  names.nodes};

	checksum = checksum_add(checksum, sizes, sizeof(sizes));
	for (uint32_t id = 1; id <= size.processes; id++) {
		const struct roster_process *process = roster_process(collection->roster, id);
		const uint32_t of[] = {process->identity.host, (uint32_t)process->rank};

		checksum = checksum_add(checksum, of, sizeof(of));
		checksum = checksum_add(checksum, process->devices,
					process->nr_devices * sizeof(*process->devices));
	}
	return checksum;
}

uint64_t cell_origin(const struct timeline_source *source)
{
	const struct profile *profile = timeline_source_profile(source);
	const uint32_t nr_hosts = roster_size(profile->collection->roster).hosts;
	char folder[PATH_MAX];

	if (profile->written || !profile->has_timeline ||
	    event_place_find(timeline_source_store(source), profile->timeline_id, folder))
		return 0;
	const uint64_t files = add_files(0, folder);
	return files ? add_names(add_clocks(files, timeline_source_map(source), nr_hosts),
				 profile->collection)
		     : 0;
}

int cell_origin_path(const struct timeline_source *source, char path[static PATH_MAX])
{
	const int size =
		snprintf(path, PATH_MAX, "%s" CELL_FORMAT_SUFFIX, timeline_source_store(source));

	return size < PATH_MAX ? 0 : -ENAMETOOLONG;
}
