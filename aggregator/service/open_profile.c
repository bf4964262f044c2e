#include "open_profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_profiles.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/raw_log.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_life.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "timeline/log/event_format.h"

static int explain(char **error, const char *path, const char *what, int status)
{
	return error_text_set(error, status, "%s: %s%s", path, what, strerror(-status));
}

static int load(struct open_profile *profile, const char *path, char **error)
{
	int status = store_load(profile->store, profile->collection);

	return status ? error_text_set(error, status, "%s: cannot be continued: %s (%s)", path,
				       strerror(-status), store_error(profile->store))
		      : 0;
}

static int open_nodes(struct open_profile *profile, const char *path, char **error)
{
	int status = path ? node_profiles_open(path, &profile->nodes) : 0;

	profile->control.nodes = profile->nodes;
	return status ? error_text_set(error, status, "%s: %s", path,
				       status == -EPROTO ? "damaged, or of a newer version"
							 : strerror(-status))
		      : 0;
}

/* Loading applies messages whose events are in the log, so the log comes after it. */
static int open_events(struct open_profile *profile, const struct open_profile_options *options,
		       char **error)
{
	if (!options->timeline.keeps)
		return 0;
	struct event_log_options timeline = options->timeline;
	int status = store_timeline_id(profile->store, timeline.profile);

	if (!status)
		status = event_log_open(options->store_path, &timeline, &profile->events);

	if (status)
		return explain(error, options->store_path, EVENT_FORMAT_FOLDER ": ", status);
	profile->collection->events = event_log_packer(profile->events);
	return 0;
}

static void find_place(struct open_profile *profile, const char *path)
{
	char host[256] = "", whole[PATH_MAX];

	gethostname(host, sizeof(host) - 1);
	if (!realpath(path, whole) || snprintf(profile->place, sizeof(profile->place), "%s:%s",
					       host, whole) >= (int)sizeof(profile->place))
		profile->place[0] = '\0';
}

static int join_room(struct open_profile *profile, const struct open_profile_options *options,
		     char **error)
{
	int status = page_share_join(&profile->pages, options->page_room, options->page_user);

	if (status)
		return explain(error, options->store_path, "", status);
	page_share_set(&profile->pages, profile->nodes ? node_profiles_bytes(profile->nodes) : 0);
	return 0;
}

int open_profile_open(struct open_profile *profile, const struct open_profile_options *options,
		      char **error)
{
	const struct store_options store = {.title = options->title,
					    .nr_nodes = options->nr_nodes,
					    .totals_as_blocks = options->totals_as_blocks,
					    .bytes_max = options->bytes_max,
					    .compact = options->compact};
	int status;

	profile->collection = collection_create();
	if (error)
		*error = NULL;
	if (!profile->collection)
		return explain(error, options->store_path, "", -ENOMEM);
	control_service_init(&profile->control, options->receiver, profile->collection);
	profile->control.profile = profile;
	status = clock_service_init(&profile->clocks, options->receiver, profile->collection);
	if (status)
		return explain(error, options->store_path, "", status);
	if (options->raw_samples)
		raw_log_start(profile->collection->raw);
	status = store_open(options->store_path, &store, &profile->store, error);
	if (status)
		return explain(error, options->store_path, "", status);
	profile->store_path = strdup(options->store_path);
	if (!profile->store_path)
		return explain(error, options->store_path, "", -ENOMEM);
	find_place(profile, options->store_path);
	status = load(profile, options->store_path, error);
	if (!status)
		status = open_nodes(profile, options->pages_path, error);
	if (!status)
		status = open_events(profile, options, error);
	if (!status)
		metrics_board_join(options->board, &profile->metrics, profile->collection,
				   profile->store,
				   profile->nodes ? node_profiles_pages(profile->nodes) : NULL,
				   clock_now_ns());
	return status || !options->page_room ? status : join_room(profile, options, error);
}

void open_profile_close(struct open_profile *profile)
{
	metrics_board_leave(&profile->metrics, profile->collection, profile->store);
	node_profiles_close(profile->nodes);
	collection_destroy(profile->collection);
	event_log_close(profile->events);
	store_close(profile->store);
	if (profile->store_path)
		store_life_want_no_more(profile->store_path);
	free(profile->store_path);
	clock_service_fini(&profile->clocks);
	control_service_fini(&profile->control);
	page_share_leave(&profile->pages);
	profile->nodes = NULL;
	profile->collection = NULL;
	profile->events = NULL;
	profile->store = NULL;
	profile->store_path = NULL;
	profile->clocks = (struct clock_service){0};
	profile->control = (struct control_service){0};
}

struct profile_agents open_profile_agents(const struct open_profile *profile)
{
	return (struct profile_agents){profile->collection, profile->nodes};
}

static uint32_t nr_rows_of(const struct open_profile *profile)
{
	uint32_t nr_rows;

	fold_table_rows(profile->collection->totals, &nr_rows);
	return nr_rows;
}

bool open_profile_is_due(const struct open_profile *profile, uint64_t now_ns)
{
	return commit_schedule_is_due(&profile->schedule, now_ns, nr_rows_of(profile));
}

static bool is_wanted(const struct open_profile *profile, uint64_t now_ns)
{
	return commit_schedule_heeds_readers(&profile->schedule, now_ns) &&
	       store_life_is_wanted(profile->store_path);
}

int open_profile_commit(struct open_profile *profile, uint64_t now_ns)
{
	struct commit_schedule *schedule = &profile->schedule;

	schedule->nr_processes = roster_size(profile->collection->roster).processes;
	const bool is_whole_due = commit_schedule_is_whole(schedule, now_ns, nr_rows_of(profile)) ||
				  is_wanted(profile, now_ns);
	const bool is_whole = is_whole_due && !commit_schedule_tells_first(schedule);
	uint64_t cpu_ns = clock_thread_ns();
	int error = is_whole ? store_commit(profile->store, profile->collection)
			     : store_commit_messages(profile->store, profile->collection);

	profile->committed_ns = now_ns;
	if (error == -ENOMEM)
		return error;
	if (error)
		commit_schedule_fail(schedule, now_ns);
	else if (is_whole)
		commit_schedule_done(schedule, now_ns, clock_thread_ns() - cpu_ns);
	else
		commit_schedule_logged(schedule, now_ns, is_whole_due);
	if (!error && profile->events)
		event_log_write(profile->events, now_ns);
	if (!error && is_whole)
		store_life_want_no_more(profile->store_path);
	return error;
}

bool open_profile_has_nodes(const struct open_profile *profile)
{
	return profile->nodes && node_profiles_count(profile->nodes) > 0;
}

int open_profile_save_nodes(struct open_profile *profile)
{
	if (!open_profile_has_nodes(profile))
		return 0;
	int status = node_profiles_save(profile->nodes);
	int64_t nr_nodes = status ? status : profile_agents_nodes(open_profile_agents(profile));

	return nr_nodes > 0 ? store_expect(profile->store, (uint32_t)nr_nodes) : (int)nr_nodes;
}

void open_profile_note_commit(struct open_profile *profile, uint64_t took_ns, uint64_t now_ns)
{
	struct slow_spell *slowness = &profile->slowness;
	const char *place = *profile->place ? profile->place : "the profile";
	enum slow_spell_news news =
		slow_spell_look(slowness, OPEN_PROFILE_SLOW_NS, took_ns, now_ns);

	if (news == SLOW_SPELL_BEGAN)
		log_warning("the disk of %s takes %.1f s for a commit, or this machine has other "
			    "work: agents keep their data meanwhile",
			    place, (double)slowness->longest_ns / 1e9);
	else if (news == SLOW_SPELL_ENDED)
		log_notice("the disk of %s is fast again: a commit took at most %.1f s", place,
			   (double)slowness->longest_ns / 1e9);
}
