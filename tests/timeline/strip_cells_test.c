/* Strips made of cells of time in place of events: each bin has what it has without them. */
#include "strips_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/output_file.h"
#include "timeline/cells/cell_bytes.h"
#include "timeline/cells/cell_file.h"
#include "timeline/cells/cell_origin.h"

#define CELLS 25u
#define BINS  80u /* of a cell, in each of which is a nanosecond as well as in none */
#define BIN   (SPAN_NS / CELLS / BINS)

/* Changes the strips of a cell, in place. */
typedef void change_strips(struct strips_fixture *f, struct cell_bytes *bytes);

/* Writes a file of cells, whose sums are not read here. change_them: NULL: the strips are sound. */
static void write_cells(struct strips_fixture *f, change_strips *change_them)
{
	struct cell_file_head head = {.nr_shares = 1,
				      .nr_cells = CELLS,
				      .nr_bins = BINS,
				      .first_ns = FIRST_NS,
				      .cell_ns = SPAN_NS / CELLS,
				      .origin = cell_origin(f->source)};
	struct cell_file_part parts[2 * CELLS] = {0};
	struct cell_bytes bytes[2 * CELLS] = {0};
	struct output_file file;
	struct cell_packer packer;
	char path[PATH_MAX];

	assert_int_equal(cell_packer_init(&packer), 0);
	for (uint32_t i = 0; i < 2 * CELLS; i++) {
		const uint64_t from_ns = FIRST_NS + i / 2 * head.cell_ns;

		if (i % 2 == 0)
			assert_int_equal(cell_bytes_put(&bytes[i], 0), 0);
		else
			assert_int_equal(time_strips_write_cell(f->source, &f->waits, from_ns,
								from_ns + head.cell_ns, BINS,
								&bytes[i]),
					 0);
		if (i % 2 && change_them)
			change_them(f, &bytes[i]);
		assert_int_equal(cell_packer_pack(&packer, &bytes[i], &parts[i]), 0);
	}
	assert_int_equal(cell_file_create(&file, f->source, path), 0);
	assert_int_equal(cell_file_write(&file, f->source, &head, parts, bytes, 0), 0);
	for (uint32_t i = 0; i < 2 * CELLS; i++)
		free(bytes[i].data);
	cell_packer_fini(&packer);
}

/* Reads a part with the file's cells, or without any. */
static void read_part(struct strips_fixture *f, uint64_t from_ns, uint64_t to_ns, bool has_cells,
		      struct time_strips *strips)
{
	const struct time_strips_part part = {.request = &TIMELINE_REQUEST_ALL,
					      .origin_ns = FIRST_NS,
					      .from_ns = from_ns,
					      .to_ns = to_ns};
	const struct timeline_counts counts = {0};
	struct cell_file file = {0};
	const struct time_strips_long more = {.counts = &counts, .cells = &file};

	if (has_cells)
		assert_int_equal(cell_file_open(&file, f->source), 0);
	assert_int_equal(has_cells, file.parts != NULL);
	assert_int_equal(time_strips_read_long(f->source, &f->waits, &part, &more, strips), 0);
	cell_file_close(&file);
}

/* What the device of a strip did first of all in each nanosecond. */
static const uint8_t *truth_of(const struct strips_fixture *f, const struct time_strip *strip)
{
	return f->first[strip->device.gpu == 6 ? 0 : strip->device.gpu == 7 ? 1 : 2];
}

static void check_bins(const struct strips_fixture *f, const struct time_strips *strips,
		       const struct time_strip *strip)
{
	const struct strip_axis *axis = &strips->axis;
	uint64_t(*truth)[STRIP_PARTS + 1] = calloc(axis->nr_bins, sizeof(*truth));

	assert_non_null(truth);
	for (uint64_t at = strips->first_ns; at < strips->end_ns; at++) {
		const uint8_t part = truth_of(f, strip)[at - FIRST_NS];

		truth[(at - axis->first_ns) / axis->bin_ns][part ? part - 1 : STRIP_PARTS]++;
	}
	for (uint32_t bin = 0; bin < axis->nr_bins; bin++)
		assert_memory_equal(&strip->bins.ns[(size_t)bin * STRIP_PARTS], truth[bin],
				    STRIP_PARTS * sizeof(**truth));
	free(truth);
}

static void check_same_but_bins(const struct time_strips *a, const struct time_strips *b)
{
	assert_int_equal(a->nr_strips, b->nr_strips);
	for (uint32_t i = 0; i < a->nr_strips; i++)
		assert_memory_equal(&a->strips[i].device, &b->strips[i].device,
				    sizeof(a->strips[i].device));
	assert_int_equal(a->nr_left_out, b->nr_left_out);
	assert_int_equal(a->ticks.apart, b->ticks.apart);
	assert_int_equal(a->ticks.first, b->ticks.first);
	assert_memory_equal(a->ticks.begins_ns, b->ticks.begins_ns, sizeof(a->ticks.begins_ns));
}

/* The axis has whole bins of cells, and covers the part. */
static bool is_of_cells(const struct time_strips *strips)
{
	const struct strip_axis *axis = &strips->axis;
	const uint64_t end_ns = axis->first_ns + axis->nr_bins * axis->bin_ns;

	assert_true(axis->first_ns <= strips->first_ns &&
		    strips->first_ns < axis->first_ns + axis->bin_ns);
	assert_true(end_ns >= strips->end_ns && end_ns - axis->bin_ns < strips->end_ns);
	return axis->bin_ns % BIN == 0 && (axis->first_ns - FIRST_NS) % BIN == 0;
}

/* Checks parts of any begin and length, and returns how many were made of cells. */
static uint32_t check_parts(struct strips_fixture *f)
{
	uint32_t nr_of_cells = 0;

	for (uint32_t i = 0; i < 60; i++) {
		const uint32_t from = i ? strips_fixture_some(f, SPAN_NS - 1) : 0;
		const uint32_t span = i ? 1 + strips_fixture_some(f, SPAN_NS - from) : SPAN_NS;
		struct time_strips with, without;

		read_part(f, FIRST_NS + from, FIRST_NS + from + span, true, &with);
		read_part(f, FIRST_NS + from, FIRST_NS + from + span, false, &without);
		check_same_but_bins(&with, &without);
		for (uint32_t k = 0; k < with.nr_strips; k++) {
			check_bins(f, &with, &with.strips[k]);
			check_bins(f, &without, &without.strips[k]);
		}
		assert_int_equal(without.axis.first_ns, without.first_ns);
		nr_of_cells += is_of_cells(&with) && with.axis.first_ns != with.first_ns;
		time_strips_fini(&with);
		time_strips_fini(&without);
	}
	return nr_of_cells;
}

static void parts_of_cells_are_those_of_events_to_the_nanosecond(void **state)
{
	struct strips_fixture *f = *state;

	write_cells(f, NULL);
	assert_in_range(check_parts(f), 15, 60);
}

/* Half of the bins that there could be are enough. */
static void a_part_with_too_few_bins_of_cells_has_shorter_ones(void **state)
{
	const uint64_t cell_ns = SPAN_NS / CELLS;
	struct strips_fixture *f = *state;
	struct time_strips strips;

	write_cells(f, NULL);
	for (uint32_t cells = 1; cells < CELLS; cells++) {
		read_part(f, FIRST_NS, FIRST_NS + cells * cell_ns, true, &strips);
		assert_int_equal(strips.axis.bin_ns % BIN == 0 && cells * BINS >= 500,
				 cells * BINS >= 500);
		assert_in_range(strips.axis.nr_bins, 500, TIME_STRIPS_BINS);
		time_strips_fini(&strips);
	}
}

static void leave_out(struct strips_fixture *f, struct cell_bytes *bytes)
{
	bytes->size = strips_fixture_some(f, bytes->size);
}

static void change(struct strips_fixture *f, struct cell_bytes *bytes)
{
	for (uint32_t i = 0; i < 3; i++)
		bytes->data[strips_fixture_some(f, bytes->size)] =
			(uint8_t)strips_fixture_some(f, 256);
}

/* The strips' part of a cell ends early, though its checksum is right. */
static void cells_that_end_early_are_not_used(void **state)
{
	struct strips_fixture *f = *state;

	write_cells(f, leave_out);
	assert_int_equal(check_parts(f), 0);
}

/* Other numbers may be sound ones, so they may be shown. Nothing else may happen. */
static void hostile_cells_are_refused_or_shown(void **state)
{
	struct strips_fixture *f = *state;
	uint32_t nr_used = 0;

	for (uint32_t i = 0; i < 300; i++) {
		struct time_strips strips;

		write_cells(f, i % 10 ? change : leave_out);
		read_part(f, FIRST_NS + 7, FIRST_NS + SPAN_NS - 7, true, &strips);
		nr_used += strips.axis.first_ns != strips.first_ns;
		for (uint32_t k = 0; k < strips.nr_strips; k++)
			for (uint32_t bin = 0; bin < strips.axis.nr_bins; bin++) {
				uint64_t sum_ns = 0;

				for (uint32_t part = 0; part < STRIP_PARTS; part++)
					sum_ns +=
						strips.strips[k].bins.ns[bin * STRIP_PARTS + part];
				assert_in_range(sum_ns, 0, strips.axis.bin_ns);
			}
		time_strips_fini(&strips);
	}
	assert_in_range(nr_used, 0, 299);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, strips_fixture_set_up, strips_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_of_cells_are_those_of_events_to_the_nanosecond),
		TEST(a_part_with_too_few_bins_of_cells_has_shorter_ones),
		TEST(cells_that_end_early_are_not_used),
		TEST(hostile_cells_are_refused_or_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
