#include "export_places.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/memory_text.h"
#include "proto/driver_notice.h"
#include "report/model/report_dimension.h"
#include "report/names/clean_text.h"
#include "report/writers/json_text.h"
#include "report/writers/leaf_sums.h"

/* "GPU-", 32 digits, 4 hyphens, NUL: as nvidia-smi writes it */
#define UUID_SIZE 41u

struct gpu {
	char *host;    /* owns, as the next two; clean */
	char *model;   /* "": not known */
	char *driver;  /* "": not known */
	int32_t index; /* REPORT_GPU_NONE: the host itself */
	char uuid[UUID_SIZE];
};

struct export_places {
	const struct profile *profile;
	const struct report_tree *tree;
	const char *user;
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

static void write_uuid(const uint8_t uuid[static WIRE_UUID_SIZE], char text[static UUID_SIZE])
{
	static const uint8_t nothing[WIRE_UUID_SIZE];
	size_t at = 4;

	*text = '\0';
	if (memcmp(uuid, nothing, WIRE_UUID_SIZE) == 0)
		return;
	strcpy(text, "GPU-");
	for (unsigned int i = 0; i < WIRE_UUID_SIZE; i++)
		at += (size_t)snprintf(text + at, UUID_SIZE - at,
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				       uuid[i]);
}

static int by_place(const void *a, const void *b)
{
	const struct gpu *one = a, *two = b;
	int order = strcmp(one->host, two->host);

	return order ? order : (one->index > two->index) - (one->index < two->index);
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
			write_uuid(known->uuid, gpu->uuid);
		done = gpu->host && gpu->driver && gpu->model;
	}
	free(host);
	free(driver);
	return done;
}

struct export_places *export_places_create(const struct profile *profile,
					   const struct report_tree *tree, const char *user)
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
	places->gpus = calloc((size_t)size.hosts + size.devices + 1, sizeof(*places->gpus));
	done = places->gpus != NULL;
	for (uint32_t id = 1; id <= size.hosts && done; id++)
		done = add_host(places, id);
	if (done) {
		qsort(places->gpus, places->nr_gpus, sizeof(*places->gpus), by_place);
		return places;
	}
	export_places_destroy(places);
	return NULL;
}

void export_places_destroy(struct export_places *places)
{
	if (!places)
		return;
	for (uint32_t i = 0; i < places->nr_gpus; i++) {
		free(places->gpus[i].host);
		free(places->gpus[i].model);
		free(places->gpus[i].driver);
	}
	free(places->gpus);
	free(places->text);
	free(places);
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

	gpu = gpu ? gpu : &unknown;
	json_text_member(out, "job", job ? job : "");
	json_text_member(out, "user", places->user);
	json_text_member(out, "host", key.host);
	fprintf(out, "\"rank\":%" PRId32 ",\"gpu\":%" PRId32 ",", leaf->rank, leaf->gpu);
	json_text_member(out, "gpu_uuid", gpu->uuid);
	json_text_member(out, "model", gpu->model);
	fputs("\"driver\":", out);
	json_text_write(out, gpu->driver);
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
