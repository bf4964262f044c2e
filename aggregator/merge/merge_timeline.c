#include "merge_timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/store/store_timeline.h"
#include "base/log.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/log/event_place.h"
#include "timeline/log/event_reader.h"

#define BYTES_MAX    (1ull << 42) /* nothing is dropped */
#define WRITE_EVENTS (1u << 20)   /* so many wait in memory */

struct adding {
	struct merge_timeline *timeline;
	const struct merge_map *map;
	uint64_t unknown; /* events that name what the profile does not have */
	uint64_t unread;
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

/* What finds no room is not lost: nothing is merged. */
static int write_events(struct merge_timeline *timeline)
{
	timeline->nr_events = 0;
	return event_log_write(timeline->log, 1);
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
	return timeline->nr_events >= WRITE_EVENTS ? write_events(timeline) : 0;
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

/* Writes the folder's path. What lies beside a store is not of nodes whose pages came to it. 0; -ENOENT: there is none;
 * or -ENAMETOOLONG. */
static int find_folder(const struct merge_source *source, const uint8_t *id,
		       char folder[static PATH_MAX])
{
	int error = source->open ? event_place_by_id(source->timeline_of, id, folder)
				 : event_place_find(source->timeline_of, id, folder);

	return error || access(folder, F_OK) == 0 ? error : -ENOENT;
}

int merge_timeline_look(const struct merge_source *source, struct database *database,
			bool *is_missing)
{
	uint8_t id[STORE_TIMELINE_ID];
	char folder[PATH_MAX];
	bool known = false;

	*is_missing = false;
	int error = source->timeline_of ? store_timeline_read(database, id, &known) : 0;
	if (error || !known)
		return error;
	error = find_folder(source, id, folder);
	*is_missing = error == -ENOENT;
	if (error || !source->timeline)
		return *is_missing ? 0 : error;
	free(*source->timeline); /* of an attempt before */
	*source->timeline = strdup(folder);
	return *source->timeline ? 0 : -ENOMEM;
}

static uint64_t nr_events(const struct event_sums *sums)
{
	return sums->launches + sums->records;
}

/* Adds events of a log whose heads have been read. What they name and nobody could read is lost. */
static int add_events(struct adding *adding, const struct merge_source *source,
		      const struct event_sums *heads, const uint8_t *id)
{
	struct merge_timeline *timeline = adding->timeline;
	struct event_packer *packer = event_log_packer(timeline->log);
	const struct event_asks asks = {.profile = id, .take = take, .context = adding};
	struct event_sums sums = {0};

	event_log_dropped_before(timeline->log, heads->dropped_files, heads->dropped_events);
	event_packer_lose(packer, heads->lost_events);
	int error = event_reader_read(source->timeline_of, &asks, &sums);
	if (nr_events(&sums) < nr_events(heads))
		adding->unread = nr_events(heads) - nr_events(&sums);
	event_packer_lose(packer, adding->unknown + adding->unread);
	if (!error)
		error = write_events(timeline);
	say_losses(source->path, &sums, adding->unknown);
	return error;
}

/* Says that files without an id are left behind. 0 or -errno. */
static int leave_nameless(const struct merge_source *source)
{
	const struct event_asks asks = {.profile = NULL};
	struct event_sums heads = {0};
	int error = event_reader_read(source->timeline_of, &asks, &heads);

	if (!error && heads.files)
		log_warning("%s: its timeline is left behind, because an older version wrote it: "
			    "`flamegrid timeline` shows it",
			    source->path);
	return error == -ENOENT ? 0 : error;
}

int merge_timeline_add(struct merge_timeline *timeline, struct database *merged,
		       const char *merged_path, struct database *database,
		       const struct merge_source *source, const struct merge_map *map)
{
	struct adding adding = {.timeline = timeline, .map = map};
	uint8_t id[STORE_TIMELINE_ID];
	const struct event_asks asks = {.profile = id};
	struct event_sums heads = {0};
	char folder[PATH_MAX];
	bool known;

	if (!source->timeline_of)
		return 0;
	int error = store_timeline_read(database, id, &known);
	if (error || !known)
		return error || source->open ? error : leave_nameless(source);
	error = find_folder(source, id, folder);
	if (!error)
		error = event_reader_read(source->timeline_of, &asks, &heads);
	if (!error)
		error = open_log(timeline, merged, merged_path);
	if (!error)
		return add_events(&adding, source, &heads, id);
	/* If it was there, another process has put the parts into one meanwhile. */
	if (error == -ENOENT)
		return source->timeline && *source->timeline ? -ESTALE : 0;
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
	int error = event_place_beside(from_path, from);

	if (!error)
		error = event_place_beside(to_path, to);
	return error ? error : event_place_move(from, to);
}

void merge_timeline_remove(const char *path)
{
	char folder[PATH_MAX];

	if (event_place_beside(path, folder) == 0)
		event_place_remove(AT_FDCWD, folder);
}
