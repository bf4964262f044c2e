#include "merge_timeline.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/store/store_timeline.h"
#include "base/log.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/log/event_reader.h"

#define BYTES_MAX    (1ull << 42) /* nothing is dropped */
#define WRITE_EVENTS (1u << 20)   /* so many wait in memory */

struct adding {
	struct merge_timeline *timeline;
	const struct merge_map *map;
	uint64_t unknown; /* events that name what the profile does not have */
};

/* Returns whether the profile has the thing; *id becomes the merged profile's. */
static bool replace(const struct adding *adding, enum merge_kind kind, uint32_t *id)
{
	return merge_map_replace(adding->map, kind, id) == 0;
}

static void add_launches(struct adding *adding, const struct message_events *events)
{
	struct event_packer *packer = event_log_packer(adding->timeline->log);

	for (uint32_t i = 0; i < events->nr_launches; i++) {
		struct launch_record launch = events->launches[i];

		if (replace(adding, MERGE_KIND_NODE, &launch.stack_id))
			event_packer_launch(packer, &launch);
		else
			adding->unknown++;
	}
}

static void add_records(struct adding *adding, const struct message_events *events)
{
	struct event_packer *packer = event_log_packer(adding->timeline->log);

	for (uint32_t i = 0; i < events->nr_gpu; i++) {
		struct gpu_record record = events->gpu[i];

		if (replace(adding, MERGE_KIND_STRING, &record.name_id) &&
		    replace(adding, MERGE_KIND_NODE, &record.capture_stack_id))
			event_packer_record(packer, &record);
		else
			adding->unknown++;
	}
}

static int take(void *context, const struct message_events *events)
{
	struct adding *adding = context;
	struct merge_timeline *timeline = adding->timeline;
	const uint64_t nr = (uint64_t)events->nr_launches + events->nr_gpu;
	uint32_t process_id = events->process_id;

	if (!replace(adding, MERGE_KIND_PROCESS, &process_id)) {
		adding->unknown += nr;
		return 0;
	}
	if (!process_id) /* another copy has it */
		return 0;
	event_packer_begin(event_log_packer(timeline->log), process_id, events->clock_offset_ns,
			   events->clock_valid);
	add_launches(adding, events);
	add_records(adding, events);
	timeline->nr_events += nr;
	if (timeline->nr_events >= WRITE_EVENTS) {
		event_log_write(timeline->log, 1);
		timeline->nr_events = 0;
	}
	return 0;
}

static int open_log(struct merge_timeline *timeline, struct database *merged,
		    const char *merged_path)
{
	struct event_log_options options = {.keeps = true, .bytes_max = BYTES_MAX};

	if (timeline->log)
		return 0;
	int error = store_timeline_make(merged, options.profile);
	return error ? error : event_log_open(merged_path, &options, &timeline->log);
}

static void say_losses(const char *source_path, const struct event_sums *sums, uint64_t unknown)
{
	if (sums->damaged || unknown)
		log_warning("%s: of its timeline %" PRIu64 " damaged parts and %" PRIu64
			    " events that fit nothing were left out",
			    source_path, sums->damaged, unknown);
	if (sums->compressed)
		log_warning("%s: %" PRIu64 " blocks of its timeline were left out, because "
			    "libzstd is missing (Debian: libzstd1)",
			    source_path, sums->compressed);
	if (sums->nameless)
		log_warning("%s: %" PRIu64 " files of its timeline are of an older version, which "
			    "does not say of which profile they are",
			    source_path, sums->nameless);
}

int merge_timeline_add(struct merge_timeline *timeline, struct database *merged,
		       const char *merged_path, struct database *source, const char *source_path,
		       const struct merge_map *map)
{
	struct adding adding = {.timeline = timeline, .map = map};
	uint8_t id[STORE_TIMELINE_ID];
	struct event_asks asks = {.profile = id};
	struct event_sums heads = {0}, sums = {0};
	bool known;
	int error = store_timeline_read(source, id, &known);

	if (error)
		return error;
	asks.profile = known ? id : NULL;
	error = event_reader_read(source_path, &asks, &heads);
	if (!error && !known && heads.files)
		log_warning("%s: its timeline is left behind, because an older version wrote it: "
			    "`flamegrid timeline` shows it",
			    source_path);
	if (error || !known)
		return error == -ENOENT ? 0 : error;
	error = open_log(timeline, merged, merged_path);
	if (error)
		return error;
	event_log_dropped_before(timeline->log, heads.dropped_files, heads.dropped_events);
	event_packer_lose(event_log_packer(timeline->log), heads.lost_events);
	asks.take = take;
	asks.context = &adding;
	error = event_reader_read(source_path, &asks, &sums);
	event_log_write(timeline->log, 1);
	timeline->nr_events = 0;
	say_losses(source_path, &sums, adding.unknown);
	return error;
}

void merge_timeline_close(struct merge_timeline *timeline)
{
	event_log_close(timeline->log);
	*timeline = (struct merge_timeline){0};
}

int merge_timeline_move(const char *from_path, const char *to_path)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (snprintf(from, sizeof(from), "%s" EVENT_FORMAT_FOLDER, from_path) >=
		    (int)sizeof(from) ||
	    snprintf(to, sizeof(to), "%s" EVENT_FORMAT_FOLDER, to_path) >= (int)sizeof(to))
		return -ENAMETOOLONG;
	return rename(from, to) && errno != ENOENT ? -errno : 0;
}

void merge_timeline_remove(const char *path)
{
	char folder[PATH_MAX], file[PATH_MAX + 32];
	const struct dirent *entry;

	if (snprintf(folder, sizeof(folder), "%s" EVENT_FORMAT_FOLDER, path) >= (int)sizeof(folder))
		return;
	DIR *files = opendir(folder);
	while (files && (entry = readdir(files)) != NULL)
		if (event_reader_number(entry->d_name) &&
		    snprintf(file, sizeof(file), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(file))
			unlink(file);
	if (files)
		closedir(files);
	rmdir(folder);
}
