#include "cell_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream_fold.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "base/array.h"
#include "timeline/cells/cell_bytes.h"

#define KEY_NUMBERS 8u /* of a key, that are not bytes */

/* ---- rows */

static void numbers_of(const struct fold_key *key, uint32_t numbers[static KEY_NUMBERS])
{
	const uint32_t list[KEY_NUMBERS] = {key->process_id,       key->device_id, key->context_id,
					    key->stream_id,        key->tid,       key->stack_id,
					    key->capture_stack_id, key->name_id};

	memcpy(numbers, list, sizeof(list));
}

/* Neighbours differ little then. */
static int by_key(const void *a, const void *b)
{
	const struct fold_row *const *left = a, *const *right = b;
	uint32_t left_numbers[KEY_NUMBERS], right_numbers[KEY_NUMBERS];

	numbers_of(&(*left)->key, left_numbers);
	numbers_of(&(*right)->key, right_numbers);
	for (uint32_t i = 0; i < KEY_NUMBERS; i++)
		if (left_numbers[i] != right_numbers[i])
			return left_numbers[i] < right_numbers[i] ? -1 : 1;
	return memcmp(&(*left)->key.kind, &(*right)->key.kind, 4);
}

static int put_row(struct cell_bytes *bytes, const struct fold_row *row,
		   uint32_t before[static KEY_NUMBERS])
{
	const uint8_t kinds[] = {row->key.kind, row->key.copy_kind, row->key.matched};
	uint8_t durations[DURATION_LIST_BYTES_MAX];
	struct duration_bin list[DURATION_BUCKETS];
	uint32_t numbers[KEY_NUMBERS];
	int error = 0;

	numbers_of(&row->key, numbers);
	for (uint32_t i = 0; i < KEY_NUMBERS && !error; i++)
		error = cell_bytes_put_signed(bytes, (int64_t)numbers[i] - before[i]);
	memcpy(before, numbers, sizeof(numbers));
	if (!error)
		error = cell_bytes_put_data(bytes, kinds, sizeof(kinds));
	if (!error)
		error = cell_bytes_put(bytes, row->count);
	if (!error)
		error = cell_bytes_put(bytes, row->ns);
	if (!error)
		error = cell_bytes_put(bytes, row->bytes);
	const size_t size = duration_list_encode(list, fold_row_list(row, list), durations);
	if (!error)
		error = cell_bytes_put(bytes, size);
	return error ? error : cell_bytes_put_data(bytes, durations, size);
}

static int put_rows(struct cell_bytes *bytes, const struct fold_table *totals)
{
	uint32_t before[KEY_NUMBERS] = {0}, nr;
	const struct fold_row *rows = fold_table_rows(totals, &nr);
	const struct fold_row **order = calloc(nr + 1ull, sizeof(*order));
	int error = order ? cell_bytes_put(bytes, nr) : -ENOMEM;

	for (uint32_t i = 0; order && i < nr; i++)
		order[i] = &rows[i];
	if (order)
		qsort(order, nr, sizeof(*order), by_key);
	for (uint32_t i = 0; i < nr && !error; i++)
		error = put_row(bytes, order[i], before);
	free(order);
	return error;
}

struct adding {
	struct stream_fold *fold;
	struct cell_input input;
	const uint8_t *processes;
	struct cell_part_rows *rows;
	uint32_t nr_names, nr_stacks;
	struct busy_place place;
	uint64_t stale_ns; /* as cell_part_add()'s */
};

static bool is_of(const struct adding *adding, uint32_t process_id)
{
	return process_id && process_id <= adding->fold->nr_processes &&
	       adding->processes[process_id - 1];
}

static bool is_known(const struct adding *adding, const struct fold_key *key)
{
	return is_of(adding, key->process_id) && key->name_id <= adding->nr_names &&
	       key->stack_id <= adding->nr_stacks && key->capture_stack_id <= adding->nr_stacks &&
	       key->kind <= RECORD_GPU_SYNC && key->matched <= 1;
}

static void get_key(struct cell_input *input, struct fold_key *key)
{
	uint32_t *const numbers[KEY_NUMBERS] = {
		&key->process_id, &key->device_id, &key->context_id,       &key->stream_id,
		&key->tid,        &key->stack_id,  &key->capture_stack_id, &key->name_id};

	for (uint32_t i = 0; i < KEY_NUMBERS; i++)
		*numbers[i] += (uint32_t)cell_input_get_signed(input);
	if (input->end - input->at < 3) {
		input->is_damaged = true;
		return;
	}
	key->kind = *input->at++;
	key->copy_kind = *input->at++;
	key->matched = *input->at++;
}

/* Returns the key's row, which is made if it is new. NULL: no memory. */
static struct fold_row *find_row(struct adding *adding, const struct fold_key *key, uint32_t place)
{
	struct fold_table *totals = adding->fold->totals;
	uint32_t *const at = &adding->rows->at[place];
	struct fold_row *row = *at ? fold_table_row(totals, *at - 1) : NULL;

	if (row && memcmp(&row->key, key, sizeof(*key)) == 0)
		return row;
	const uint32_t hash = fold_table_hash(key);
	row = fold_table_find(totals, key, hash);
	if (!row)
		row = fold_table_append(totals, key, hash);
	if (row)
		*at = 1 + (uint32_t)(row - fold_table_row(totals, 0));
	return row;
}

static int add_row(struct adding *adding, struct fold_key *key, uint32_t place)
{
	struct cell_input *input = &adding->input;
	struct duration_bin list[DURATION_BUCKETS];
	uint32_t nr = 0;

	get_key(input, key);
	const uint64_t count = cell_input_get(input), ns = cell_input_get(input),
		       bytes = cell_input_get(input), size = cell_input_get(input);
	if (input->is_damaged || size > (uint64_t)(input->end - input->at) || count == 0 ||
	    !is_known(adding, key) || duration_list_decode(input->at, size, count, ns, list, &nr))
		return -EPROTO;
	input->at += size;
	struct fold_row *row = find_row(adding, key, place);
	return row ? fold_row_add_list(row, count, ns, bytes, list, nr) : -ENOMEM;
}

static int add_rows(struct adding *adding)
{
	struct fold_key key = {0};
	const uint64_t nr = cell_input_get(&adding->input);
	int error = 0;

	if (nr > (uint64_t)(adding->input.end - adding->input.at)) /* a row is more than a byte */
		return -EPROTO;
	if (array_reserve_zeroed(&adding->rows->at, &adding->rows->nr, nr + 1,
				 sizeof(*adding->rows->at)))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && !error; i++)
		error = add_row(adding, &key, i);
	return error;
}

void cell_part_rows_fini(struct cell_part_rows *rows)
{
	free(rows->at);
	*rows = (struct cell_part_rows){0};
}

/* ---- processes */

static int put_counts(struct cell_bytes *bytes, const struct stream_fold *fold)
{
	int error = cell_bytes_put(bytes, fold->nr_work);

	if (!error)
		error = cell_bytes_put(bytes, fold->nr_waits);
	if (!error)
		error = cell_bytes_put(bytes, fold->nr_launchless);
	if (!error)
		error = cell_bytes_put(bytes, fold->counts.others);
	if (!error)
		error = cell_bytes_put(bytes, fold->last_ns);
	for (uint32_t i = 0; i < fold->nr_processes && !error; i++) {
		const struct stream_fold_process *process = &fold->processes[i];

		if (!process->nr_launches && !process->nr_records)
			continue;
		error = cell_bytes_put(bytes, i + 1);
		if (!error)
			error = cell_bytes_put(bytes, process->nr_launches);
		if (!error)
			error = cell_bytes_put(bytes, process->nr_records);
		if (!error)
			error = cell_bytes_put(bytes, process->nr_matched);
	}
	return error ? error : cell_bytes_put(bytes, 0);
}

static int add_counts(struct adding *adding)
{
	struct stream_fold *fold = adding->fold;
	struct cell_input *input = &adding->input;

	fold->nr_work += cell_input_get(input);
	fold->nr_waits += cell_input_get(input);
	fold->nr_launchless += cell_input_get(input);
	fold->counts.others += cell_input_get(input);
	const uint64_t last_ns = cell_input_get(input);
	if (last_ns > fold->last_ns)
		fold->last_ns = last_ns;
	for (uint32_t id = cell_input_get_u32(input); id; id = cell_input_get_u32(input)) {
		if (!is_of(adding, id))
			return -EPROTO;
		struct stream_fold_process *process = &fold->processes[id - 1];

		process->nr_launches += cell_input_get(input);
		process->nr_records += cell_input_get(input);
		process->nr_matched += cell_input_get(input);
	}
	return input->is_damaged ? -EPROTO : 0;
}

/* ---- busy times */

/* Kernels are most of a device's work, so the times of their cells are near those of that cell. of NULL: there is none.
 */
static int put_cell(struct cell_bytes *bytes, const struct timeline_cell *cell,
		    const struct timeline_cell *of, uint64_t at_ns)
{
	int error = cell_bytes_put(bytes, cell->records);

	if (error || !cell->records)
		return error;
	error = cell_bytes_put_signed(bytes, (int64_t)(cell->sum_ns - cell->busy_ns));
	if (!error)
		error = cell_bytes_put(bytes, cell->busy_ns);
	if (!error)
		error = cell_bytes_put_signed(
			bytes, (int64_t)(cell->first_ns - (of ? of->first_ns : at_ns)));
	if (!error)
		error = cell_bytes_put_signed(
			bytes, (int64_t)(cell->last_ns - (of ? of->last_ns : at_ns)));
	return error ? error
		     : cell_bytes_put(bytes, cell->carry_ns > at_ns ? cell->carry_ns - at_ns : 0);
}

static struct timeline_cell get_cell(struct adding *adding, const struct timeline_cell *of)
{
	const uint64_t at_ns = adding->place.at_ns;
	struct cell_input *input = &adding->input;
	struct timeline_cell cell = {.records = cell_input_get(input)};

	if (!cell.records)
		return cell;
	cell.sum_ns = (uint64_t)cell_input_get_signed(input);
	cell.busy_ns = cell_input_get(input);
	cell.sum_ns += cell.busy_ns;
	cell.first_ns = (of ? of->first_ns : at_ns) + (uint64_t)cell_input_get_signed(input);
	cell.last_ns = (of ? of->last_ns : at_ns) + (uint64_t)cell_input_get_signed(input);
	cell.carry_ns = at_ns + cell_input_get(input);
	return cell;
}

static struct timeline_cell cell_of(struct stream_timeline *timeline)
{
	return timeline ? stream_timeline_cell(timeline) : (struct timeline_cell){0};
}

static int put_streams(struct cell_bytes *bytes, const struct busy_lanes *lanes, uint32_t id,
		       uint64_t at_ns)
{
	const struct busy_process *process = &lanes->processes[id - 1];
	int error = 0;

	for (uint32_t i = 0; i < process->nr_streams && !error; i++) {
		const struct busy_stream *stream = &process->streams[i];
		const struct timeline_cell cell = cell_of(stream->timeline);

		if (!cell.records)
			continue;
		error = cell_bytes_put(bytes, id);
		if (!error)
			error = cell_bytes_put(bytes, stream->device_id);
		if (!error)
			error = cell_bytes_put(bytes, stream->context_id);
		if (!error)
			error = cell_bytes_put(bytes, stream->stream_id);
		if (!error)
			error = put_cell(bytes, &cell, NULL, at_ns);
	}
	return error;
}

/* A device without work of its own in the cell has no other. */
static int put_devices(struct cell_bytes *bytes, const struct busy_lanes *lanes, uint32_t id,
		       uint64_t at_ns)
{
	const struct busy_process *process = &lanes->processes[id - 1];
	int error = 0;

	for (uint32_t i = 0; i < process->nr_devices && !error; i++) {
		struct busy_device *device = &process->devices[i];
		const struct timeline_cell work = cell_of(device->work);

		if (!work.records)
			continue;
		error = cell_bytes_put(bytes, id);
		if (!error)
			error = cell_bytes_put(bytes, device->device_id);
		if (!error)
			error = put_cell(bytes, &work, NULL, at_ns);
		for (enum busy_kind kind = BUSY_WORK + 1; kind < BUSY_KINDS && !error; kind++) {
			const struct timeline_cell cell =
				cell_of(*busy_device_timeline(device, kind));

			error = put_cell(bytes, &cell, &work, at_ns);
		}
	}
	return error;
}

static int put_busy(struct cell_bytes *bytes, const struct busy_lanes *lanes, uint64_t at_ns)
{
	int error = 0;

	for (uint32_t id = 1; id <= lanes->nr_processes && !error; id++)
		error = put_streams(bytes, lanes, id, at_ns);
	if (!error)
		error = cell_bytes_put(bytes, 0);
	for (uint32_t id = 1; id <= lanes->nr_processes && !error; id++)
		error = put_devices(bytes, lanes, id, at_ns);
	if (!error)
		error = cell_bytes_put(bytes, 0);
	for (uint32_t i = 0; i < lanes->nr_devices && !error; i++) {
		const struct timeline_cell cell = cell_of(lanes->timelines[i]);

		if (!cell.records)
			continue;
		error = cell_bytes_put(bytes, i + 1);
		if (!error)
			error = put_cell(bytes, &cell, NULL, at_ns);
	}
	return error ? error : cell_bytes_put(bytes, 0);
}

/* Goes on where other work runs into the cell: how long that of others does is to be known, too. */
static int note_stale(struct adding *adding, const struct timeline_cell *cell, int error)
{
	if (error != -ESTALE)
		return error;
	/* It may be work that the maker has not seen, too. */
	if (adding->stale_ns <= adding->place.at_ns)
		adding->stale_ns = adding->place.at_ns + 1;
	if (cell->carry_ns > adding->stale_ns)
		adding->stale_ns = cell->carry_ns;
	return 0;
}

static int add_streams(struct adding *adding)
{
	struct cell_input *input = &adding->input;
	struct busy_place *place = &adding->place;
	int error = 0;

	while (!error && (place->process_id = cell_input_get_u32(input)) != 0) {
		place->device_id = cell_input_get_u32(input);
		place->context_id = cell_input_get_u32(input);
		place->stream_id = cell_input_get_u32(input);
		const struct timeline_cell cell = get_cell(adding, NULL);
		if (input->is_damaged || !is_of(adding, place->process_id))
			return -EPROTO;
		error = note_stale(adding, &cell,
				   busy_lanes_add_stream_cell(&adding->fold->busy, place, &cell));
	}
	return error;
}

static int add_devices(struct adding *adding)
{
	struct cell_input *input = &adding->input;
	struct busy_place *place = &adding->place;
	struct timeline_cell cells[BUSY_KINDS];
	int error = 0;

	while (!error && (place->process_id = cell_input_get_u32(input)) != 0) {
		place->device_id = cell_input_get_u32(input);
		for (enum busy_kind kind = 0; kind < BUSY_KINDS; kind++)
			cells[kind] = get_cell(adding, kind == BUSY_WORK ? NULL : cells);
		if (input->is_damaged || !is_of(adding, place->process_id))
			return -EPROTO;
		error = note_stale(adding, cells,
				   busy_lanes_add_device_cell(&adding->fold->busy, place, cells));
	}
	while (!error && (place->device_id = cell_input_get_u32(input)) != 0) {
		const struct timeline_cell cell = get_cell(adding, NULL);

		if (input->is_damaged || place->device_id > adding->fold->busy.nr_devices)
			return -EPROTO;
		error = note_stale(adding, &cell,
				   busy_lanes_add_shared_cell(&adding->fold->busy, place, &cell));
	}
	return error;
}

/* ---- all */

int cell_part_write(struct stream_fold *fold, uint64_t at_ns, struct cell_bytes *bytes)
{
	int error = put_counts(bytes, fold);

	if (!error)
		error = put_busy(bytes, &fold->busy, at_ns);
	return error ? error : put_rows(bytes, fold->totals);
}

int cell_part_add(struct stream_fold *fold, const uint8_t *data, size_t size, uint64_t at_ns,
		  uint64_t to_ns, const uint8_t *processes, struct cell_part_rows *rows,
		  uint64_t *stale_ns)
{
	const struct collection *names = timeline_source_profile(fold->source)->collection;
	const struct catalog_size known = catalog_size(names->catalog);
	struct adding adding = {
		.fold = fold,
		.input = {data, data + size, false},
		.processes = processes,
		.rows = rows,
		.nr_names = known.strings,
		.nr_stacks = known.nodes,
		.place = {.at_ns = at_ns, .to_ns = to_ns},
	};
	int error = add_counts(&adding);

	if (!error)
		error = add_streams(&adding);
	if (!error)
		error = add_devices(&adding);
	*stale_ns = adding.stale_ns;
	if (!error && adding.stale_ns)
		return -ESTALE;
	if (!error)
		error = add_rows(&adding);
	return error || (!adding.input.is_damaged && adding.input.at == adding.input.end) ? error
											  : -EPROTO;
}
