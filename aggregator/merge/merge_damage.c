#include "merge_damage.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NAME_SIZE 256u
#define HEX_SIZE  (2 * STORE_WRITER_SIZE + 1)

void merge_damages_fini(struct merge_damages *damages)
{
	free(damages->damages);
	*damages = (struct merge_damages){.damages = NULL};
}

static void write_hex(const uint8_t writer[static STORE_WRITER_SIZE], char hex[static HEX_SIZE])
{
	for (size_t i = 0; i < STORE_WRITER_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", writer[i]);
}

static int add(struct merge_damages *damages, uint32_t profile, const struct store_damage *note)
{
	struct merge_damage damage = {.profile = profile, .note = *note};
	char hex[HEX_SIZE];

	damage.has_writer = strlen(note->key) == HEX_SIZE - 1;
	for (size_t i = 0; i < STORE_WRITER_SIZE && damage.has_writer; i++)
		damage.has_writer = sscanf(note->key + 2 * i, "%2hhx", &damage.writer[i]) == 1;
	write_hex(damage.writer, hex);
	damage.has_writer = damage.has_writer && strcmp(hex, note->key) == 0;
	return array_append(&damages->damages, &damages->count, &damage, sizeof(damage));
}

/* Returns the file's name with that of its directory. */
static const char *short_path(const char *path)
{
	const char *start = path + strlen(path);

	for (uint32_t slashes = 0; start > path; start--)
		if (start[-1] == '/' && ++slashes == 2)
			break;
	return start;
}

/* A damaged database may not tell the host. Then the file is named. */
static void name_part(const struct merge_source *source, struct database *database,
		      char name[static NAME_SIZE])
{

	*name = '\0';
	if (database && source->writer)
		database_query_text(database,
				    "SELECT data FROM strings WHERE id = (SELECT node FROM hosts"
				    " ORDER BY id LIMIT 1)",
				    name, NAME_SIZE);
	if (!*name)
		snprintf(name, NAME_SIZE, "%s", short_path(source->path));
}

/* The key is the writer's, so that a sound copy of the part is found. */
static void write_key(const struct merge_source *source, struct database *database,
		      const char *name, char key[static STORE_DAMAGE_SIZE])
{
	*key = '\0';
	if (source->writer)
		write_hex(source->writer, key);
	else if (database)
		database_query_text(database,
				    "SELECT CAST(lower(hex(min(writer))) AS BLOB) FROM writers"
				    " HAVING count(*) = 1",
				    key, STORE_DAMAGE_SIZE);
	if (!*key)
		snprintf(key, STORE_DAMAGE_SIZE, "%s", name);
}

int merge_damages_add(struct merge_damages *damages, uint32_t profile,
		      const struct merge_source *source, struct database *database)
{
	struct store_damage *notes = NULL, own;
	uint32_t nr_notes = 0;
	char name[NAME_SIZE];
	int error = store_damage_read(database, &notes, &nr_notes);

	for (uint32_t i = 0; i < nr_notes && !error; i++)
		error = add(damages, profile, &notes[i]);
	free(notes);
	if (error || !source->nr_lost)
		return error;
	name_part(source, database, name);
	write_key(source, database, name, own.key);
	int size = snprintf(own.text, sizeof(own.text), "%s (%" PRIu32 " of %" PRIu64 " pages",
			    name, source->nr_lost, (uint64_t)source->nr_lost + source->nr_pages);
	if (source->nr_lost_records)
		size += snprintf(own.text + size, sizeof(own.text) - (size_t)size,
				 ", %" PRIu64 " records", source->nr_lost_records);
	snprintf(own.text + size, sizeof(own.text) - (size_t)size, ")");
	error = add(damages, profile, &own);
	if (!error)
		damages->damages[damages->count - 1].is_all_of_it = !source->writer;
	return error;
}

int merge_damages_add_whole(struct merge_damages *damages, uint32_t profile,
			    const struct merge_source *source, struct database *database)
{
	struct store_damage note;
	char name[NAME_SIZE];

	name_part(source, database, name);
	write_key(source, database, name, note.key);
	snprintf(note.text, sizeof(note.text), "%s (all of it)", name);
	return add(damages, profile, &note);
}

static bool is_of(const struct merge_damage *damage, const struct merge_candidate *candidate)
{
	if (damage->is_all_of_it && damage->profile == candidate->profile)
		return true;
	return damage->has_writer &&
	       memcmp(damage->writer, candidate->writer, sizeof(damage->writer)) == 0;
}

void merge_damages_mark(const struct merge_damages *damages, struct merge_choice *choice)
{
	for (uint32_t i = 0; i < damages->count; i++)
		for (uint32_t k = 0; k < choice->count; k++)
			if (choice->candidates[k].profile == damages->damages[i].profile &&
			    is_of(&damages->damages[i], &choice->candidates[k]))
				choice->candidates[k].is_damaged = true;
}

/* Whether the merged profile has the same part from a profile that has all of it. */
static bool is_mended(const struct merge_damage *damage, const struct merge_choice *choice)
{
	bool is_chosen = false, is_whole = false;

	for (uint32_t i = 0; i < choice->count; i++) {
		const struct merge_candidate *candidate = &choice->candidates[i];

		if (!candidate->is_chosen)
			continue;
		is_chosen |= candidate->profile == damage->profile;
		is_whole |= !candidate->is_damaged && is_of(damage, candidate);
	}
	return is_whole || (damage->is_all_of_it && !is_chosen);
}

int merge_damages_write(const struct merge_damages *damages, const struct merge_choice *choice,
			struct database *database)
{
	int error = 0;

	for (uint32_t i = 0; i < damages->count && !error; i++)
		if (!is_mended(&damages->damages[i], choice))
			error = store_damage_write(database, &damages->damages[i].note);
	return error;
}
