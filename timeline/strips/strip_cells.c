#include "strip_cells.h"

#include <errno.h>

#include "strip_pauses.h"

#include "timeline/cells/cell_bytes.h"
#include "timeline/cells/cell_file.h"

static uint32_t devices_most(const struct strip_maker *maker)
{
	const uint32_t nr = maker->devices.nr_devices;

	return nr < TIME_STRIPS_MOST ? nr : TIME_STRIPS_MOST;
}

/* ---- writing */

static int put_ticks(struct cell_bytes *bytes, const struct step_ticks *ticks, uint64_t at_ns)
{
	int error = cell_bytes_put(bytes, ticks->apart);
	uint64_t last_ns = at_ns;

	if (error || !ticks->apart)
		return error;
	error = cell_bytes_put(bytes, ticks->first);
	for (uint32_t i = 0; i < STEP_TICKS_MOST && !error; i++) {
		if (!ticks->begins_ns[i])
			continue;
		error = cell_bytes_put(bytes, i + 1);
		if (!error)
			error = cell_bytes_put_signed(bytes,
						      (int64_t)(ticks->begins_ns[i] - last_ns));
		last_ns = ticks->begins_ns[i];
	}
	return error ? error : cell_bytes_put(bytes, 0);
}

/* A bin has a bit for each of its parts. ns: NULL: all are empty. */
static int put_bin(struct cell_bytes *bytes, const uint64_t *ns)
{
	uint8_t there = 0;
	int error;

	for (uint32_t part = 0; part < STRIP_PARTS && ns; part++)
		there |= (uint8_t)((ns[part] != 0) << part);
	error = cell_bytes_put_data(bytes, &there, 1);
	for (uint32_t part = 0; part < STRIP_PARTS && !error; part++)
		if (there >> part & 1)
			error = cell_bytes_put(bytes, ns[part]);
	return error;
}

int strip_cells_write(const struct strip_maker *maker, struct cell_bytes *bytes)
{
	const struct time_strips *made = maker->made;
	int error = put_ticks(bytes, &made->ticks, made->first_ns);
	uint32_t before = 0;

	for (uint32_t i = 0; i < devices_most(maker) && !error; i++) {
		const uint64_t *ns = maker->bins[i].ns;

		if (!maker->have_work[i])
			continue;
		error = cell_bytes_put(bytes, i + 1 - before);
		before = i + 1;
		for (uint32_t bin = 0; bin < made->axis.nr_bins && !error; bin++)
			error = put_bin(bytes, ns ? &ns[(size_t)bin * STRIP_PARTS] : NULL);
	}
	return error ? error : cell_bytes_put(bytes, 0);
}

/* ---- reading */

bool strip_cells_find(struct strip_cells *cells, const struct cell_file *file, uint64_t from_ns,
		      uint64_t to_ns, uint32_t nr_devices, struct strip_axis *axis)
{
	const struct cell_file_head *head = &file->head;

	*cells = (struct strip_cells){.file = file};
	if (!file->parts || !head->nr_bins || from_ns < head->first_ns)
		return false;
	cell_file_find(file, from_ns, to_ns, &cells->begin, &cells->end);
	const uint64_t bin_ns = head->cell_ns / head->nr_bins;
	const uint64_t first_ns = from_ns - (from_ns - head->first_ns) % bin_ns;
	const uint64_t nr_bins = (to_ns - first_ns - 1) / bin_ns + 1;
	const uint64_t most = TIME_STRIPS_ALL / (nr_devices ? nr_devices : 1);
	const uint64_t join = (nr_bins - 1) / TIME_STRIPS_BINS + 1;

	*axis = (struct strip_axis){.first_ns = first_ns,
				    .bin_ns = bin_ns * join,
				    .nr_bins = (uint32_t)((nr_bins - 1) / join + 1)};
	return cells->begin < cells->end &&
	       nr_bins >= (most < TIME_STRIPS_BINS ? most : TIME_STRIPS_BINS) / 2;
}

struct adding {
	struct strip_maker *maker;
	struct cell_input input;
	uint64_t from_ns, to_ns; /* the cell */
	uint32_t nr_bins;        /* of the cell */
};

static int add_ticks(struct adding *adding)
{
	struct cell_input *input = &adding->input;
	const uint32_t apart = cell_input_get_u32(input);
	const uint64_t first = apart ? cell_input_get(input) : 0;
	uint64_t time_ns = adding->from_ns;

	for (uint32_t i = apart ? cell_input_get_u32(input) : 0; i; i = cell_input_get_u32(input)) {
		const uint64_t number = first + (i - 1ull) * apart;

		time_ns += (uint64_t)cell_input_get_signed(input);
		if (i > STEP_TICKS_MOST || first > UINT32_MAX || number > UINT32_MAX ||
		    time_ns < adding->from_ns || time_ns >= adding->to_ns)
			return -EPROTO;
		step_ticks_note(&adding->maker->made->ticks, (uint32_t)number, time_ns);
	}
	return input->is_damaged ? -EPROTO : 0;
}

/* Each of the cell's bins lies within one of the part's. */
static int add_bin(struct adding *adding, struct strip_bins *bins, uint32_t number)
{
	const struct strip_axis *axis = &adding->maker->made->axis;
	const uint64_t bin_ns = (adding->to_ns - adding->from_ns) / adding->nr_bins;
	const uint64_t at_ns = adding->from_ns + number * bin_ns - axis->first_ns;
	uint64_t *ns = &bins->ns[at_ns / axis->bin_ns * STRIP_PARTS], left_ns = bin_ns;
	struct cell_input *input = &adding->input;

	if (input->at == input->end)
		return -EPROTO;
	const uint8_t there = *input->at++;
	for (uint32_t part = 0; part < STRIP_PARTS; part++) {
		const uint64_t part_ns = there >> part & 1 ? cell_input_get(input) : 0;

		if (part_ns > left_ns)
			return -EPROTO;
		left_ns -= part_ns;
		ns[part] += part_ns;
	}
	return input->is_damaged || there >> STRIP_PARTS ? -EPROTO : 0;
}

static int add_device(struct adding *adding, uint32_t device)
{
	struct strip_maker *maker = adding->maker;
	struct strip_bins *bins = &maker->bins[device];
	int error = 0;

	if (!bins->ns && strip_bins_init(bins, &maker->made->axis))
		return -ENOMEM;
	maker->have_work[device] |= STRIP_HAS_WORK;
	for (uint32_t bin = 0; bin < adding->nr_bins && !error; bin++)
		error = add_bin(adding, bins, bin);
	return error;
}

static int add_cell(struct adding *adding)
{
	struct cell_input *input = &adding->input;
	int error = add_ticks(adding);
	uint32_t device = 0;

	while (!error) {
		const uint32_t step = cell_input_get_u32(input);

		if (!step)
			return input->is_damaged || input->at < input->end ? -EPROTO : 0;
		if (step > devices_most(adding->maker) - device)
			return -EPROTO;
		device += step;
		error = add_device(adding, device - 1);
	}
	return error;
}

int strip_cells_add(struct strip_maker *maker, const struct strip_cells *cells)
{
	const struct cell_file_head *head = &cells->file->head;
	struct adding adding = {.maker = maker, .nr_bins = head->nr_bins};
	struct cell_reader reader;
	int error = cell_reader_init(&reader, cells->file);

	for (uint32_t cell = cells->begin; cell < cells->end && !error; cell++) {
		const uint8_t *data;
		size_t size;

		adding.from_ns = cell_file_at(cells->file, cell);
		adding.to_ns = cell_file_at(cells->file, cell + 1);
		error = cell_reader_part(&reader, cell, head->nr_shares, &data, &size);
		if (error)
			break;
		adding.input = (struct cell_input){data, data + size, false};
		error = add_cell(&adding);
	}
	cell_reader_fini(&reader);
	return error;
}
