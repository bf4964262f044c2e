#include "tests/support/cmocka_test.h"

#include "collective_truth.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct truth_row {
	uint32_t pid, tid, rank, nr_ranks;
	uint64_t key, sequence, function_sequence, count, bytes, group, begin_ns, end_ns;
	char function[20], type[20];
	uint32_t peer;
	int32_t result;
	bool met;
};

/* The next field of a line, which may be empty. */
static const char *next(char **line)
{
	const char *field = strsep(line, "\t\n");

	return field ? field : "";
}

static uint64_t number(char **line)
{
	return strtoull(next(line), NULL, 10);
}

static bool read_row(char *line, struct truth_row *row)
{
	const char *kind = next(&line), *peer;

	*row = (struct truth_row){.peer = COLLECTIVE_NOT_KNOWN};
	if (strcmp(kind, "communicator") == 0)
		return false;
	row->pid = (uint32_t)number(&line);
	row->tid = (uint32_t)number(&line);
	if (strcmp(kind, "group") == 0) {
		strcpy(row->function, "group");
		row->group = number(&line);
	} else {
		assert_string_equal(kind, "call");
		row->key = strtoull(next(&line), NULL, 16);
		row->rank = (uint32_t)number(&line);
		row->nr_ranks = (uint32_t)number(&line);
		row->sequence = number(&line);
		row->function_sequence = number(&line);
		snprintf(row->function, sizeof(row->function), "%s", next(&line));
		snprintf(row->type, sizeof(row->type), "%s", next(&line));
		row->count = number(&line);
		row->bytes = number(&line);
		peer = next(&line);
		row->peer = *peer ? (uint32_t)strtoul(peer, NULL, 10) : COLLECTIVE_NOT_KNOWN;
		row->group = number(&line);
	}
	row->result = (int32_t)number(&line);
	row->begin_ns = number(&line);
	row->end_ns = number(&line);
	assert_true(row->end_ns >= row->begin_ns && row->begin_ns > 0);
	return true;
}

static void read_file(struct collective_truth *truth, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		truth->rows = realloc(truth->rows, (truth->count + 1) * sizeof(*truth->rows));
		assert_non_null(truth->rows);
		truth->count += read_row(line, &truth->rows[truth->count]);
	}
	fclose(file);
}

void collective_truth_read(struct collective_truth *truth, const char *folder)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	char path[512];

	*truth = (struct collective_truth){.rows = NULL};
	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (*entry->d_name != '.')
			read_file(truth, path);
	}
	closedir(directory);
}

void collective_truth_fini(struct collective_truth *truth)
{
	free(truth->rows);
}

uint32_t collective_truth_calls(const struct collective_truth *truth)
{
	return truth->count;
}

static const struct communicator *communicator_of(const struct bpf_fixture *fixture,
						  const struct bpf_fixture_collective *call)
{
	for (uint32_t i = 0; i < fixture->nr_communicators; i++)
		if (fixture->communicators[i].process_id == call->process_id &&
		    fixture->communicators[i].communicator.communicator_id ==
			    call->collective.communicator_id)
			return &fixture->communicators[i].communicator;
	return NULL;
}

/* By thread and time: a call lies around what the truth says of it. */
static struct truth_row *row_of(const struct collective_truth *truth,
				const struct bpf_fixture *fixture,
				const struct bpf_fixture_collective *call)
{
	const struct collective *collective = &call->collective;
	uint32_t pid = fixture->processes[call->process_id].pid;

	for (uint32_t i = 0; i < truth->count; i++) {
		struct truth_row *row = &truth->rows[i];

		if (row->pid == pid && row->tid == collective->tid && !row->met &&
		    strcmp(row->function, collective_function_name(collective->function)) == 0 &&
		    collective->start_ns <= row->begin_ns &&
		    row->end_ns <= collective->start_ns + collective->duration_ns)
			return row;
	}
	fail_msg("pid %u: a %s that was not called", pid,
		 collective_function_name(collective->function));
	return NULL;
}

/* The key that the BPF program gives a split: a hash of the parent's key, the colour and the split's number. */
static uint64_t split_key(uint64_t parent_key, int32_t color, uint32_t split)
{
	uint8_t bytes[16];

	if (parent_key == 0)
		return 0;
	for (uint32_t i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(parent_key >> 8 * i);
	for (uint32_t i = 0; i < 4; i++) {
		bytes[8 + i] = (uint8_t)((uint32_t)color >> 8 * i);
		bytes[12 + i] = (uint8_t)(split >> 8 * i);
	}
	return collective_hash(COLLECTIVE_HASH_START, bytes, sizeof(bytes));
}

static void check_communicator(const struct truth_row *row, const struct communicator *communicator)
{
	if (row->key == 0 || (row->result && !communicator)) {
		assert_null(communicator);
		return;
	}
	assert_non_null(communicator);
	if (communicator->origin == COMMUNICATOR_UNIQUE_ID) {
		assert_int_equal(communicator->rank, row->rank);
		assert_int_equal(communicator->nr_ranks, row->nr_ranks);
	} else if (communicator->origin == COMMUNICATOR_SPLIT) {
		assert_int_equal(communicator->key,
				 split_key(communicator->parent_key, communicator->color,
					   communicator->split));
	}
	if (communicator->origin == COMMUNICATOR_INIT_ALL)
		assert_true(communicator->key != 0 && communicator->rank == row->rank &&
			    communicator->nr_ranks == row->nr_ranks);
	else
		assert_true(communicator->key == row->key);
}

void collective_truth_check(const struct collective_truth *truth, const struct bpf_fixture *fixture,
			    uint64_t from_ns, bool keys)
{
	uint32_t expected = 0;

	for (uint32_t i = 0; i < fixture->nr_collectives; i++) {
		const struct bpf_fixture_collective *call = &fixture->collectives[i];
		const struct collective *collective = &call->collective;
		struct truth_row *row = row_of(truth, fixture, call);

		row->met = true;
		assert_true(collective->group == row->group);
		assert_int_equal(collective->result, row->result);
		if (collective->function == COLLECTIVE_GROUP)
			continue;
		assert_true(collective->count == row->count);
		assert_true(collective->bytes == row->bytes);
		assert_int_equal(collective->peer, row->peer);
		assert_string_equal(collective_type_name(collective->data_type), row->type);
		if (!keys)
			continue;
		assert_true(collective->sequence == row->sequence);
		assert_true(collective->function_sequence == row->function_sequence);
		check_communicator(row, communicator_of(fixture, call));
	}
	for (uint32_t i = 0; i < truth->count; i++)
		expected += truth->rows[i].begin_ns >= from_ns;
	assert_int_equal(fixture->nr_collectives, expected);
}
