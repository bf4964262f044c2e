#include "export_places.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/memory_text.h"
#include "proto/batch/gpu_uuid.h"
#include "proto/driver_notice.h"
#include "report/model/report_dimension.h"
#include "report/names/clean_text.h"
#include "report/writers/json_text.h"
#include "report/writers/leaf_sums.h"

struct gpu {
	char *host;                    /* owns, as the next two; clean */
	char *model;                   /* "": not known */
	char *driver;                  /* "": not known */
	int32_t index;                 /* REPORT_GPU_NONE: the host itself */
	char uuid[GPU_UUID_TEXT_SIZE]; /* "": not known */
};

struct export_places {
	const struct profile *profile;
	const struct report_tree *tree;
	const char *user;
	enum export_kind kind;
	struct gpu *gpus; /* owns; sorted by host and index */
	uint32_t nr_gpus;
	char *text; /* owns; the last answer */
};

static char *clean_string(const struct catalog *catalog, uint32_t id)
{
	uint32_t size;
	const char *text = catalog_string(catalog, id, &size);

	return clean_text_of(text, size);
}

/* The notice of any process of the host. */
static char *find_driver(const struct profile *profile, uint32_t host)
{
	const struct catalog *catalog = profile->collection->catalog;
	const struct roster *roster = profile->collection->roster;
	const size_t words = strlen(DRIVER_NOTICE);

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		for (uint32_t i = 0; i < process->nr_notices && process->identity.host == host;
		     i++) {
			uint32_t size;
			const char *text = catalog_string(catalog, process->notices[i], &size);

			if (size > words && memcmp(text, DRIVER_NOTICE, words) == 0)
				return clean_text_of(text + words, size - words);
		}
	}
	return strdup("");
}

static int by_place(const void *a, const void *b)
{
	const struct gpu *one = a, *two = b;
	int order = strcmp(one->host, two->host);

	return order ? order : (one->index > two->index) - (one->index < two->index);
}

static void name_gpu(const struct catalog *catalog, const struct roster_device *device,
		     char uuid[static GPU_UUID_TEXT_SIZE])
{
	uint32_t size;
	const char *name = catalog_string(catalog, device->name, &size);

	gpu_uuid_text(device->uuid, gpu_uuid_is_part(name, size), uuid);
}

static void free_gpu(struct gpu *gpu)
{
	free(gpu->host);
	free(gpu->model);
	free(gpu->driver);
}

/* Leaves tell GPUs apart by their index. Of those that share one, as MIG instances may, only what they have in common
 * is known. */
static void merge_shared(struct export_places *places)
{
	uint32_t nr_gpus = 0;

	for (uint32_t i = 0; i < places->nr_gpus; i++) {
		struct gpu *gpu = &places->gpus[i];
		struct gpu *last = nr_gpus ? &places->gpus[nr_gpus - 1] : NULL;

		if (!last || by_place(last, gpu) != 0) {
			places->gpus[nr_gpus++] = *gpu;
			continue;
		}
		if (strcmp(last->uuid, gpu->uuid) != 0)
			*last->uuid = '\0';
		if (strcmp(last->model, gpu->model) != 0)
			*last->model = '\0';
		free_gpu(gpu);
	}
	places->nr_gpus = nr_gpus;
}

/* Adds the host itself, and its GPUs. */
static bool add_host(struct export_places *places, uint32_t id)
{
	const struct catalog *catalog = places->profile->collection->catalog;
	const struct roster *roster = places->profile->collection->roster;
	const uint32_t nr_devices = roster_size(roster).devices;
	char *host = clean_string(catalog, roster_host(roster, id)->node);
	char *driver = find_driver(places->profile, id);
	bool done = host && driver;

	for (uint32_t device = 0; device <= nr_devices && done; device++) {
		const struct roster_device *known = device ? roster_device(roster, device) : NULL;

		if (known && known->host != id)
			continue;
		struct gpu *gpu = &places->gpus[places->nr_gpus++];
		gpu->host = strdup(host);
		gpu->driver = strdup(driver);
		gpu->model = known ? clean_string(catalog, known->name) : strdup("");
		gpu->index = known ? known->index : REPORT_GPU_NONE;
		if (known)
			name_gpu(catalog, known, gpu->uuid);
		done = gpu->host && gpu->driver && gpu->model;
	}
	free(host);
	free(driver);
	return done;
}

struct export_places *export_places_create(const struct profile *profile,
					   const struct report_tree *tree, const char *user,
					   enum export_kind kind)
{
	struct export_places *places = calloc(1, sizeof(*places));
	const struct roster *roster = profile->collection->roster;
	const struct roster_size size = roster_size(roster);
	bool done = places != NULL;

	if (!places)
		return NULL;
	places->profile = profile;
	places->tree = tree;
	places->user = user;
	places->kind = kind;
	places->gpus = calloc((size_t)size.hosts + size.devices + 1, sizeof(*places->gpus));
	done = places->gpus != NULL;
	for (uint32_t id = 1; id <= size.hosts && done; id++)
		done = add_host(places, id);
	if (done) {
		qsort(places->gpus, places->nr_gpus, sizeof(*places->gpus), by_place);
		merge_shared(places);
		return places;
	}
	export_places_destroy(places);
	return NULL;
}

void export_places_destroy(struct export_places *places)
{
	if (!places)
		return;
	for (uint32_t i = 0; i < places->nr_gpus; i++)
		free_gpu(&places->gpus[i]);
	free(places->gpus);
	free(places->text);
	free(places);
}

struct place {
	const char *job, *user, *host;
	const struct gpu *gpu;
	int32_t rank, index;
};

static void write_members(FILE *out, const struct place *place)
{
	json_text_member(out, "job", place->job);
	json_text_member(out, "user", place->user);
	json_text_member(out, "host", place->host);
	fprintf(out, "\"rank\":%" PRId32 ",\"gpu\":%" PRId32 ",", place->rank, place->index);
	json_text_member(out, "gpu_uuid", place->gpu->uuid);
	json_text_member(out, "model", place->gpu->model);
	fputs("\"driver\":", out);
	json_text_write(out, place->gpu->driver);
}

static void write_label(FILE *out, const char *name, const char *value)
{
	if (!*value)
		return;
	fprintf(out, ",{\"name\":\"%s\",\"value\":", name);
	json_text_write(out, value);
	fputc('}', out);
}

static void write_number_label(FILE *out, const char *name, int32_t value)
{
	if (value >= 0)
		fprintf(out, ",{\"name\":\"%s\",\"value\":\"%" PRId32 "\"}", name, value);
}

static void write_labels(FILE *out, const struct place *place)
{
	write_label(out, "job", place->job);
	write_label(out, "user", place->user);
	write_label(out, "host", place->host);
	write_number_label(out, "rank", place->rank);
	write_number_label(out, "gpu", place->index);
	write_label(out, "gpu_uuid", place->gpu->uuid);
	write_label(out, "model", place->gpu->model);
	write_label(out, "driver", place->gpu->driver);
}

static void write_leaf(struct export_places *places, FILE *out, const struct report_leaf *leaf)
{
	static const struct gpu unknown = {.model = (char *)"", .driver = (char *)""};
	const struct report_tree *tree = places->tree;
	struct gpu key = {.host = (char *)tree->strings[leaf->host], .index = leaf->gpu};
	char text[LEAF_SUMS_TEXT_SIZE];
	const char *job = leaf_sums_value(tree, REPORT_BY_JOB,
					  report_dimension_value(leaf, REPORT_BY_JOB), text);
	const struct gpu *gpu = bsearch(&key, places->gpus, places->nr_gpus, sizeof(key), by_place);
	const struct place place = {.job = job ? job : "",
				    .user = places->user,
				    .host = key.host,
				    .gpu = gpu ? gpu : &unknown,
				    .rank = leaf->rank,
				    .index = leaf->gpu};

	if (places->kind == EXPORT_PYROSCOPE)
		write_labels(out, &place);
	else
		write_members(out, &place);
}

/* The job of the whole profile is that of its first process that has one. */
static void write_whole(struct export_places *places, FILE *out)
{
	const struct report_tree *tree = places->tree;
	struct report_leaf leaf = {0};
	char text[LEAF_SUMS_TEXT_SIZE];

	for (uint32_t i = 0; i < tree->nr_processes && !leaf.job; i++)
		leaf.job = tree->processes[i].job;
	const char *job = leaf_sums_value(tree, REPORT_BY_JOB,
					  report_dimension_value(&leaf, REPORT_BY_JOB), text);
	json_text_member(out, "job", job ? job : "");
	fputs("\"user\":", out);
	json_text_write(out, places->user);
}

const char *export_places_text(struct export_places *places, const struct report_leaf *leaf,
			       size_t *size)
{
	free(places->text);
	places->text = NULL;
	struct memory_text memory;
	if (memory_text_open(&memory))
		return NULL;
	if (leaf)
		write_leaf(places, memory.out, leaf);
	else
		write_whole(places, memory.out);
	return memory_text_take(&memory, &places->text, size) ? NULL : places->text;
}
