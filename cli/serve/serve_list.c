#include "serve_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregator/store/store_life.h"
#include "base/array.h"
#include "base/clock.h"
#include "cli/base/newest_profile.h"
#include "cli/base/output_dir.h"
#include "cli/base/profile_list.h"
#include "report/model/report_summary.h"
#include "report/names/clean_text.h"
#include "report/writers/html/html_text.h"
#include "timeline/log/event_place.h"

#define NAME_MAX_BYTES 64u
#define NS_PER_S       UINT64_C(1000000000)
#define FNV_OFFSET     UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME      UINT64_C(0x100000001b3)
#define BLOCK          512u /* of st_blocks */
#define SIZE_TEXT      32u

struct serve_list {
	const char *const *paths;
	uint32_t nr_paths, most;
	struct served_profile *profiles; /* owns */
	uint32_t nr_profiles, room, left_out;
	uint64_t looked_ns; /* 0: never */
};

static const char head[] =
	"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>flamegrid</title>"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<meta name=\"color-scheme\" content=\"light dark\"><style>"
	"body{font:15px system-ui,sans-serif;margin:2em;max-width:60em}"
	"table{border-collapse:collapse}th,td{text-align:left;padding:.3em 1em .3em 0}"
	"td.n{text-align:right;font-variant-numeric:tabular-nums}input{width:6em}"
	"form{display:inline}</style></head><body><h1>Profiles</h1>\n";

struct serve_list *serve_list_create(const char *const *paths, uint32_t nr_paths, uint32_t most)
{
	struct serve_list *list = calloc(1, sizeof(*list));

	if (list)
		*list = (struct serve_list){.paths = paths, .nr_paths = nr_paths, .most = most};
	return list;
}

void serve_list_destroy(struct serve_list *list)
{
	if (!list)
		return;
	free(list->profiles);
	free(list);
}

/* ---- looking */

static void name(struct served_profile *profile)
{
	uint64_t hash = FNV_OFFSET;

	for (const char *at = profile->store; *at; at++)
		hash = (hash ^ (unsigned char)*at) * FNV_PRIME;
	snprintf(profile->id, sizeof(profile->id), "%016" PRIx64, hash);
}

/* The mark of a job of several ranks says where its aggregator is; others have an empty one. */
static bool has_mark(const char *store)
{
	const char *name = strrchr(store, '/');
	char path[PATH_MAX];
	struct stat info;

	return snprintf(path, sizeof(path), "%.*s" OUTPUT_MARK, name ? (int)(name - store + 1) : 0,
			store) < (int)sizeof(path) &&
	       lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
}

static int add(struct serve_list *list, const char *path, const char *store, uint64_t time_ns)
{
	int error = array_reserve(&list->profiles, &list->room, list->nr_profiles + 1ull,
				  sizeof(*list->profiles));

	if (error)
		return error;
	struct served_profile *profile = &list->profiles[list->nr_profiles++];
	uint64_t timeline_ns;

	*profile = (struct served_profile){.time_ns = time_ns};
	snprintf(profile->path, sizeof(profile->path), "%s", path);
	snprintf(profile->store, sizeof(profile->store), "%s", store);
	profile->is_live = store_life_is_written(store);
	profile->has_timeline = event_place_has(store, &timeline_ns);
	profile->changed_ns = time_ns + timeline_ns;
	profile->is_commanded = profile->is_live && has_mark(store);
	name(profile);
	return 0;
}

/* A path is a profile, or has some. */
static int look_at(struct serve_list *list, const char *path)
{
	char store[PATH_MAX];
	uint64_t time_ns;
	uint32_t nr;
	int error = 0;

	if (profile_list_time(output_dir_store(path, store), &time_ns))
		return add(list, path, output_dir_store(path, store), time_ns);
	struct listed_profile *all = profile_list(path, &nr);

	for (uint32_t i = 0; i < nr && i < list->most && !error; i++)
		error = add(list, all[i].path, all[i].store, all[i].time_ns);
	list->left_out += nr > list->most ? nr - list->most : 0;
	free(all);
	return error;
}

static int newest_first(const void *a, const void *b)
{
	const struct served_profile *x = a, *y = b;

	if (x->is_live != y->is_live)
		return x->is_live ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int look(struct serve_list *list)
{
	const uint64_t now_ns = clock_now_ns();
	int error = 0;

	if (list->looked_ns && now_ns - list->looked_ns < SERVE_LIST_APART_NS)
		return 0;
	list->looked_ns = now_ns;
	list->nr_profiles = list->left_out = 0;
	for (uint32_t i = 0; i < list->nr_paths && !error; i++)
		error = look_at(list, list->paths[i]);
	if (list->nr_profiles)
		qsort(list->profiles, list->nr_profiles, sizeof(*list->profiles), newest_first);
	return error;
}

const struct served_profile *serve_list_find(struct serve_list *list, const char *id, size_t size)
{
	if (size != SERVE_LIST_ID - 1 || look(list))
		return NULL;
	for (uint32_t i = 0; i < list->nr_profiles; i++)
		if (memcmp(list->profiles[i].id, id, size) == 0)
			return &list->profiles[i];
	return NULL;
}

const struct served_profile *serve_list_only(struct serve_list *list)
{
	return look(list) == 0 && list->nr_profiles == 1 ? &list->profiles[0] : NULL;
}

void serve_list_write_name(const struct served_profile *profile, FILE *out)
{
	static const char known[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
	char path[PATH_MAX];

	/* It makes "." a name. */
	if (!realpath(profile->store, path))
		snprintf(path, sizeof(path), "%s", profile->store);
	char *slash = strrchr(path, '/');
	if (slash && strcmp(slash + 1, OUTPUT_STORE) == 0)
		*slash = '\0';
	slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	name += strspn(name, "."); /* it would be hidden */
	for (uint32_t i = 0; name[i] && i < NAME_MAX_BYTES; i++)
		fputc(strchr(known, name[i]) ? name[i] : '-', out);
	if (!*name)
		fputs("flamegrid", out);
}

/* ---- the page */

static void write_timeline(FILE *out, const struct served_profile *profile)
{
	if (!profile->has_timeline)
		return;
	fprintf(out,
		"<a href=\"/p/%s/timeline?around-worst\">around the worst</a> "
		"<form action=\"/p/%s/timeline\"><label>from <input name=\"from\" "
		"placeholder=\"10s\"></label> <label>to <input name=\"to\" "
		"placeholder=\"12s\"></label> <button>Perfetto</button></form>",
		profile->id, profile->id);
}

static void write_windows(FILE *out, const struct served_profile *profile, const char *key)
{
	static const char *const durations[] = {"1s", "10s", "60s"};

	if (!key || !profile->is_commanded)
		return;
	fputs("<form method=\"post\">capture ", out);
	for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++)
		fprintf(out,
			"<button formaction=\"/p/%s/window?duration=%s&amp;key=%s\">%s</button> ",
			profile->id, durations[i], key, durations[i]);
	fputs("</form>", out);
}

/* A damaged file may end far behind its bytes. */
static void write_size(FILE *out, const struct served_profile *profile)
{
	char size[SIZE_TEXT], on_disk[SIZE_TEXT];
	struct stat info;

	if (stat(profile->store, &info))
		return;
	const uint64_t bytes = (uint64_t)info.st_size, blocks = (uint64_t)info.st_blocks * BLOCK;

	fputs(report_summary_bytes(bytes, size), out);
	if (blocks < bytes / 2)
		fprintf(out, ", of which the disk has %s", report_summary_bytes(blocks, on_disk));
}

static void write_row(FILE *out, const struct served_profile *profile, const char *key,
		      uint64_t now_ns)
{
	char age[NEWEST_PROFILE_AGE_SIZE],
		*clean = clean_text_of(profile->path, strlen(profile->path));
	const uint64_t age_s =
		now_ns > profile->time_ns ? (now_ns - profile->time_ns) / NS_PER_S : 0;

	fprintf(out, "<tr><td><a href=\"/p/%s/\">", profile->id);
	html_text_write(out, clean);
	fprintf(out, "</a><td>%s<td>%s<td class=\"n\">", profile->is_live ? "being written" : "",
		newest_profile_age(age_s, age));
	write_size(out, profile);
	fputs("<td>", out);
	write_timeline(out, profile);
	write_windows(out, profile, key);
	fputs("</tr>\n", out);
	free(clean);
}

int serve_list_write(struct serve_list *list, const char *key, char **body, size_t *size)
{
	FILE *out = open_memstream(body, size);
	const uint64_t now_ns = clock_realtime_ns();

	if (!out)
		return -ENOMEM;
	int error = look(list);

	fputs(head, out);
	if (list->nr_profiles)
		fputs("<table><tr><th>Profile<th><th>Written<th>Size<th>Timeline</tr>\n", out);
	else
		fputs("<p>There is none yet. <code>flamegrid run -- COMMAND</code> makes "
		      "one.</p>\n",
		      out);
	for (uint32_t i = 0; i < list->nr_profiles; i++)
		write_row(out, &list->profiles[i], key, now_ns);
	if (list->nr_profiles)
		fputs("</table>\n", out);
	if (list->left_out)
		fprintf(out, "<p>%" PRIu32 " older ones are left out.</p>\n", list->left_out);
	fputs("</body></html>\n", out);
	if (fclose(out) && !error)
		error = -ENOMEM;
	if (error) {
		free(*body);
		*body = NULL;
	}
	return error;
}
