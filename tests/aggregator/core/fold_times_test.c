/* The times of a total: they depend on its activities alone, in whatever order and parts these come. */
#include "aggregator/core/fold_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/fold_table.h"

#define SECOND    (1ull << FOLD_SLICE_SHIFT)
#define PIECES    200u
#define PARTS     5u
#define BYTES_MAX FOLD_TIMES_BYTES_MAX

static uint64_t random_of(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

struct piece {
	uint64_t start_ns, ns;
};

static void add(struct fold_row *row, struct piece piece)
{
	assert_int_equal(fold_row_add_one(row, piece.start_ns, piece.ns, 0), 0);
}

/* A recount of all pieces, by their first and last begin. */
static void expect(const struct fold_row *row, const struct piece *pieces, uint32_t nr_pieces)
{
	struct fold_slice slices[FOLD_SLICES], wanted[FOLD_SLICES] = {{.count = 0}};
	uint64_t first = UINT64_MAX, last = 0;
	uint32_t shift = FOLD_SLICE_SHIFT;

	for (uint32_t i = 0; i < nr_pieces; i++) {
		first = pieces[i].start_ns < first ? pieces[i].start_ns : first;
		last = pieces[i].start_ns > last ? pieces[i].start_ns : last;
	}
	while ((last >> shift) - (first >> shift) > 7)
		shift++;
	for (uint32_t i = 0; i < nr_pieces; i++) {
		struct fold_slice *slice =
			&wanted[(pieces[i].start_ns >> shift) - (first >> shift)];

		slice->count++;
		slice->ns += pieces[i].ns;
	}
	assert_int_equal(row->times.first_ns, first);
	assert_int_equal(row->times.last_ns, last);
	const uint32_t nr = fold_times_list(&row->times, fold_row_total(row), slices);
	assert_int_equal(nr, (last >> shift) - (first >> shift) + 1);
	assert_memory_equal(slices, wanted, nr * sizeof(*slices));
}

/* Runs of a second to some hours, in order but for some pieces. */
static void make(struct piece pieces[PIECES], uint64_t *seed)
{
	const uint64_t step = SECOND / 200 << random_of(seed) % 14;
	uint64_t at = random_of(seed) * SECOND % (1ull << 50);

	for (uint32_t i = 0; i < PIECES; i++) {
		at += random_of(seed) % step;
		pieces[i].start_ns = random_of(seed) % 8 ? at : at - random_of(seed) % (at / 2 + 1);
		if (random_of(seed) % 64)
			pieces[i].start_ns = at;
		pieces[i].ns = random_of(seed);
	}
}

static void join(struct fold_table *table, const struct fold_row *row)
{
	assert_int_equal(fold_table_join(table, row), 0);
}

static void parts_add_up_in_any_order(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 400; round++) {
		struct piece pieces[PIECES];
		struct fold_row whole = {.count = 0}, parts[PARTS];
		struct fold_table *left = fold_table_create(), *right = fold_table_create();
		uint64_t seed = round;
		uint32_t nr_rows;

		memset(parts, 0, sizeof(parts));
		make(pieces, &seed);
		for (uint32_t i = 0; i < PIECES; i++) {
			add(&whole, pieces[i]);
			add(&parts[random_of(&seed) % PARTS], pieces[i]);
		}
		expect(&whole, pieces, PIECES);
		for (uint32_t i = 0; i < PARTS; i++)
			join(i % 2 ? left : right, &parts[(i + round) % PARTS]);
		join(left, fold_table_rows(right, &nr_rows));
		expect(fold_table_rows(left, &nr_rows), pieces, PIECES);
		fold_table_destroy(left);
		fold_table_destroy(right);
		fold_row_fini(&whole);
		for (uint32_t i = 0; i < PARTS; i++)
			fold_row_fini(&parts[i]);
	}
}

static void bytes_are_the_same_times(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 200; round++) {
		struct piece pieces[PIECES];
		struct fold_row row = {.count = 0}, read;
		uint8_t bytes[BYTES_MAX];
		uint64_t seed = round;

		make(pieces, &seed);
		for (uint32_t i = 0; i < PIECES; i++)
			add(&row, pieces[i]);
		const size_t size = fold_times_encode(&row.times, fold_row_total(&row), bytes);
		read = (struct fold_row){.count = row.count, .ns = row.ns};
		assert_int_equal(fold_times_decode(&read.times, fold_row_total(&read), bytes, size),
				 0);
		expect(&read, pieces, PIECES);
		/* What is read is a total's, or damaged: never times with other sums. */
		for (size_t at = 0; at < size; at++) {
			struct fold_slice slices[FOLD_SLICES], sum = {.count = 0};

			bytes[at] ^= (uint8_t)(1 + random_of(&seed) % 255);
			assert_int_equal(
				fold_times_decode(&read.times, fold_row_total(&read), bytes, size),
				0);
			const uint32_t nr =
				fold_times_list(&read.times, fold_row_total(&read), slices);
			for (uint32_t i = 0; i < nr; i++) {
				sum.count += slices[i].count;
				sum.ns += slices[i].ns;
			}
			assert_true(!nr || (sum.count == row.count && sum.ns == row.ns));
			assert_true(nr || read.times.last_ns == FOLD_TIMES_DAMAGED);
		}
		fold_row_fini(&read);
		fold_row_fini(&row);
	}
}

static void without_a_part_nothing_is_known(void **state)
{
	(void)state;
	struct fold_table *table = fold_table_create();
	struct fold_row row = {.count = 0}, unknown = {.count = 0}, damaged = {.count = 0};
	struct fold_slice slices[FOLD_SLICES];
	uint32_t nr_rows;

	add(&row, (struct piece){5 * SECOND, 10});
	add(&unknown, (struct piece){FOLD_TIME_NONE, 10});
	add(&unknown, (struct piece){5 * SECOND, 10});
	assert_int_equal(fold_times_list(&unknown.times, fold_row_total(&unknown), slices), 0);
	add(&damaged, (struct piece){5 * SECOND, 10});
	assert_int_equal(fold_times_decode(&damaged.times, fold_row_total(&damaged), NULL, 0), 0);
	join(table, &row);
	assert_true(fold_times_known(&fold_table_rows(table, &nr_rows)->times));
	join(table, &unknown);
	assert_int_equal(fold_table_rows(table, &nr_rows)->times.last_ns, FOLD_TIMES_NONE);
	join(table, &damaged);
	join(table, &unknown);
	join(table, &row);
	assert_int_equal(fold_table_rows(table, &nr_rows)->times.last_ns, FOLD_TIMES_DAMAGED);
	assert_int_equal(fold_table_rows(table, &nr_rows)->count, 7);
	fold_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_add_up_in_any_order),
		cmocka_unit_test(bytes_are_the_same_times),
		cmocka_unit_test(without_a_part_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
