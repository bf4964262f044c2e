#include "merge_note.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge_timeline.h"

#include "base/array.h"

#define NAME_SIZE 256u

void merge_notes_fini(struct merge_notes *notes)
{
	free(notes->notes);
	*notes = (struct merge_notes){.notes = NULL};
}

static int add(struct merge_notes *notes, uint32_t profile, const struct store_note *note)
{
	struct merge_note added = {.profile = profile, .note = *note};

	added.has_writer = store_note_writer(note, added.writer);
	return array_append(&notes->notes, &notes->count, &added, sizeof(added));
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
		store_note_node(database, name, NAME_SIZE);
	if (!*name)
		snprintf(name, NAME_SIZE, "%s", short_path(source->path));
}

/* The key is the writer's, so that a sound copy of the part is found. */
static void set_key(struct store_note *note, const struct merge_source *source,
		    struct database *database, const char *name)
{
	*note->key = '\0';
	if (source->writer)
		store_note_set_writer(note, source->writer);
	else if (database)
		database_query_text(database,
				    "SELECT CAST(lower(hex(min(writer))) AS BLOB) FROM writers"
				    " HAVING count(*) = 1",
				    note->key, sizeof(note->key));
	if (!*note->key)
		snprintf(note->key, sizeof(note->key), "%s", name);
}

/* Puts the node before a note that the store of one node wrote itself. Of a job's the note stays as it is. */
static void name_node(struct store_note *note, struct database *database)
{
	char name[NAME_SIZE], text[STORE_NOTE_SIZE];
	int64_t nr_hosts = 0, is_own = 0;

	if (note->kind != STORE_NOTE_FULL ||
	    database_query_number(database, "SELECT count(*) FROM hosts", &nr_hosts) ||
	    database_query_number(database, "SELECT count(*) FROM meta WHERE key = 'full'",
				  &is_own) ||
	    nr_hosts != 1 || !is_own || store_note_node(database, name, sizeof(name)) || !*name)
		return;
	strcpy(text, note->text);
	snprintf(note->text, sizeof(note->text), "%s: %.*s", name,
		 (int)(sizeof(note->text) - NAME_SIZE - 2), text);
}

/* All of a source has one timeline. */
static int add_timeline(struct merge_notes *notes, uint32_t profile,
			const struct merge_source *source, struct database *database)
{
	struct store_note own = {.kind = STORE_NOTE_TIMELINE};
	char name[NAME_SIZE];
	bool is_missing;
	int error = merge_timeline_look(source, database, &is_missing);

	if (error || !is_missing)
		return error;
	name_part(source, database, name);
	set_key(&own, source, database, name);
	snprintf(own.text, sizeof(own.text), "%s", name);
	error = add(notes, profile, &own);
	if (!error)
		notes->notes[notes->count - 1].is_all_of_it = true;
	return error;
}

int merge_notes_add(struct merge_notes *notes, uint32_t profile, const struct merge_source *source,
		    struct database *database)
{
	struct store_note *read = NULL, own = {.kind = STORE_NOTE_DAMAGED};
	uint32_t nr_read = 0;
	char name[NAME_SIZE];
	int error = store_note_read(database, &read, &nr_read);

	if (!error)
		error = add_timeline(notes, profile, source, database);

	for (uint32_t i = 0; i < nr_read && !error; i++) {
		name_node(&read[i], database);
		error = add(notes, profile, &read[i]);
	}
	free(read);
	if (error || !source->nr_lost)
		return error;
	name_part(source, database, name);
	set_key(&own, source, database, name);
	int size = snprintf(own.text, sizeof(own.text), "%s (%" PRIu32 " of %" PRIu64 " pages",
			    name, source->nr_lost, (uint64_t)source->nr_lost + source->nr_pages);
	if (source->nr_lost_records)
		size += snprintf(own.text + size, sizeof(own.text) - (size_t)size,
				 ", %" PRIu64 " records", source->nr_lost_records);
	snprintf(own.text + size, sizeof(own.text) - (size_t)size, ")");
	error = add(notes, profile, &own);
	if (!error)
		notes->notes[notes->count - 1].is_all_of_it = !source->writer;
	return error;
}

int merge_notes_add_whole(struct merge_notes *notes, uint32_t profile,
			  const struct merge_source *source, struct database *database)
{
	struct store_note note = {.kind = STORE_NOTE_DAMAGED};
	char name[NAME_SIZE];

	name_part(source, database, name);
	set_key(&note, source, database, name);
	snprintf(note.text, sizeof(note.text), "%s (all of it)", name);
	return add(notes, profile, &note);
}

static bool is_of(const struct merge_note *note, const struct merge_candidate *candidate)
{
	if (note->is_all_of_it && note->profile == candidate->profile)
		return true;
	return note->has_writer &&
	       memcmp(note->writer, candidate->writer, sizeof(note->writer)) == 0;
}

void merge_notes_mark(const struct merge_notes *notes, struct merge_choice *choice)
{
	for (uint32_t i = 0; i < notes->count; i++)
		for (uint32_t k = 0; k < choice->count; k++)
			if (choice->candidates[k].profile == notes->notes[i].profile &&
			    is_of(&notes->notes[i], &choice->candidates[k]))
				choice->candidates[k].lacks[notes->notes[i].note.kind] = true;
}

/* Whether this candidate, which is chosen, does not lack what the note tells of. What was not sent, or found no room,
 * is of one copy alone: another copy has a note of its own. */
static bool has_it(const struct merge_candidate *candidate, const struct merge_note *note)
{
	return !candidate->lacks[note->note.kind] ||
	       (note->note.kind != STORE_NOTE_DAMAGED && candidate->profile != note->profile);
}

/* Whether the merged profile has the same part from a profile that has all of it. */
static bool is_mended(const struct merge_note *note, const struct merge_choice *choice)
{
	bool is_chosen = false, is_whole = false;

	for (uint32_t i = 0; i < choice->count; i++) {
		const struct merge_candidate *candidate = &choice->candidates[i];

		if (!candidate->is_chosen)
			continue;
		is_chosen |= candidate->profile == note->profile;
		is_whole |= is_of(note, candidate) && has_it(candidate, note);
	}
	return is_whole || (note->is_all_of_it && !is_chosen);
}

int merge_notes_write(const struct merge_notes *notes, const struct merge_choice *choice,
		      struct database *database)
{
	int error = 0;

	for (uint32_t i = 0; i < notes->count && !error; i++)
		if (!is_mended(&notes->notes[i], choice))
			error = store_note_write(database, &notes->notes[i].note);
	return error;
}
