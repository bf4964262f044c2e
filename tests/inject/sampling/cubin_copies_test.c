#include "inject/sampling/cubin_copies.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "inject/base/definition_writer.h"
#include "inject/cupti/cupti_library.h"
#include "proto/definition.h"
#include "tests/inject/test_ring.h"
#include "tests/node-agent/cubin/cubin_fixture.h"

#define CUBINS_MAX 256u

/* A cubin as it came out of the ring, piece by piece in order. */
struct received {
	uint64_t crc;
	uint32_t size, got;
	uint8_t *bytes; /* owns */
};

static struct test_ring ring;
static struct definition_writer writer;
static struct cupti_library library;
static struct received received[CUBINS_MAX];
static uint32_t nr_received, nr_pieces;
static int crc_result;

/* The number that a test wrote into the cubin's last bytes. */
static int get_crc(struct cupti_cubin_crc *call)
{
	assert_int_equal(call->size, 32);
	memcpy(&call->crc, (const uint8_t *)call->cubin + call->cubin_size - sizeof(call->crc),
	       sizeof(call->crc));
	return crc_result;
}

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	writer = DEFINITION_WRITER_INIT(ring.guest);
	library = (struct cupti_library){.get_cubin_crc = get_crc};
	crc_result = CUPTI_ABI_SUCCESS;
	nr_received = nr_pieces = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cubin_copies_forget();
	for (uint32_t i = 0; i < nr_received; i++)
		free(received[i].bytes);
	test_ring_fini(&ring);
	return 0;
}

/* A cubin of this size at least, whose bytes and number are the seed's. The caller frees it. */
static uint8_t *make(size_t *size, uint64_t crc, bool has_lines)
{
	struct cubin_fixture *fixture = calloc(1, sizeof(*fixture));
	size_t made;

	assert_non_null(fixture);
	fixture_symbol_add(fixture, "a", FIXTURE_TEXT_A, 0, 64);
	if (has_lines) {
		fixture_begin(fixture);
		fixture_address(fixture, 0, 0);
		fixture_row(fixture, 0, 9);
		fixture_end_sequence(fixture, 64);
		fixture_end(fixture);
	}
	uint8_t *image = fixture_image(fixture, &made);
	free(fixture);
	if (*size < made + sizeof(crc))
		*size = made + sizeof(crc);
	uint8_t *bytes = malloc(*size);
	assert_non_null(bytes);
	memcpy(bytes, image, made);
	free(image);
	for (size_t i = made; i < *size; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 251 + crc);
	memcpy(bytes + *size - sizeof(crc), &crc, sizeof(crc));
	return bytes;
}

static void take(size_t size, uint64_t crc)
{
	uint8_t *bytes = make(&size, crc, true);

	cubin_copies_take(ring.guest, bytes, size);
	memset(bytes, 0xee, size); /* CUPTI's memory is gone */
	free(bytes);
}

static struct received *received_of(const struct definition_cubin *head)
{
	uint32_t i = 0;

	while (i < nr_received && received[i].crc != head->crc)
		i++;
	assert_true(i < CUBINS_MAX);
	if (i == nr_received)
		received[nr_received++] = (struct received){
			.crc = head->crc, .size = head->size, .bytes = malloc(head->size)};
	assert_int_equal(received[i].size, head->size);
	return &received[i];
}

/* Reads the pieces that were sent, and gives the ring its room back. */
static void read_ring(void)
{
	static uint8_t body[DEFINITION_SIZE_MAX];
	struct definition_cubin head;
	uint32_t type;

	for (int size; (size = test_ring_definition(&ring, &type, body, sizeof(body))) >= 0;) {
		if (type != DEFINITION_CUBIN)
			continue;
		memcpy(&head, body, sizeof(head));
		struct received *to = received_of(&head);
		uint32_t piece = (uint32_t)size - (uint32_t)sizeof(head);
		assert_int_equal(to->got, head.offset);
		assert_true(piece > 0 && piece <= to->size - to->got);
		memcpy(to->bytes + to->got, body + sizeof(head), piece);
		to->got += piece;
		nr_pieces++;
	}
	test_ring_release(&ring);
}

static void assert_whole(uint32_t at, size_t size, uint64_t crc)
{
	uint8_t *bytes = make(&size, crc, true);

	assert_true(at < nr_received);
	assert_int_equal(received[at].crc, crc);
	assert_int_equal(received[at].size, size);
	assert_int_equal(received[at].got, size);
	assert_memory_equal(received[at].bytes, bytes, size);
	free(bytes);
}

static uint64_t lost(void)
{
	return test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_GPU_CODE_LOST).count;
}

static void send(bool last)
{
	cubin_copies_send(&library, &writer, last);
	read_ring();
}

static void copies_arrive_whole_in_the_order_of_their_loads(void **state)
{
	(void)state;
	take(0, 7);
	take(32768, 8);
	take(32769, 9);
	take(100000, 10);
	send(false);
	assert_int_equal(nr_received, 4);
	assert_whole(0, 0, 7);
	assert_whole(1, 32768, 8);
	assert_whole(2, 32769, 9);
	assert_whole(3, 100000, 10);
	assert_int_equal(nr_pieces, 1 + 1 + 2 + 4);
	send(true);
	assert_int_equal(nr_pieces, 8);
	assert_int_equal(lost(), 0);
}

static void large_copies_take_several_steps(void **state)
{
	(void)state;
	take(3u << 20, 1);
	cubin_copies_send(&library, &writer, false);
	read_ring();
	/* three quarters of the lane */
	assert_true(received[0].got > 300u << 10 && received[0].got <= 384u << 10);
	take(1000, 2); /* comes in between, and stops nothing */
	for (int i = 0; i < 20; i++)
		send(false);
	assert_int_equal(nr_received, 2);
	assert_whole(0, 3u << 20, 1);
	assert_whole(1, 1000, 2);
	assert_int_equal(lost(), 0);
}

static void what_is_no_cubin_with_lines_is_not_copied(void **state)
{
	size_t size = 0;
	uint8_t *plain = make(&size, 1, false);

	(void)state;
	errno = 77;
	cubin_copies_take(ring.guest, plain, size);
	cubin_copies_take(ring.guest, plain, 0);
	cubin_copies_take(ring.guest, "PTX", 3);
	assert_int_equal(errno, 77);
	free(plain);
	send(true);
	assert_int_equal(nr_received, 0);
	assert_int_equal(lost(), 0);
}

static void copies_are_bounded(void **state)
{
	size_t size = CUBIN_COPIES_BYTES - (1u << 20);
	uint8_t *large = make(&size, 1, true);

	(void)state;
	errno = 77;
	cubin_copies_take(ring.guest, large, size);
	assert_int_equal(lost(), 0);
	cubin_copies_take(ring.guest, large, (1u << 20) + 1);
	assert_int_equal(lost(), 1);
	take(1u << 20, 2); /* to the byte */
	assert_int_equal(lost(), 1);
	take(0, 3);
	assert_int_equal(lost(), 2);
	assert_int_equal(errno, 77);
	/* what is sent or forgotten makes room */
	cubin_copies_forget();
	size_t most = CUBIN_COPIES_BYTES;
	uint8_t *largest = make(&most, 4, true);
	cubin_copies_take(ring.guest, largest, most);
	assert_int_equal(lost(), 2);
	cubin_copies_take(ring.guest, largest, 5000);
	assert_int_equal(lost(), 3);
	cubin_copies_forget();
	free(largest);
	most = CUBIN_COPIES_BYTES + 1ul;
	largest = make(&most, 5, true);
	cubin_copies_take(ring.guest, largest, most);
	assert_int_equal(lost(), 4);
	free(largest);
	free(large);
}

static void the_last_step_counts_what_finds_no_room(void **state)
{
	(void)state;
	take(100, 1);
	take(1u << 20, 2);
	take(1u << 20, 3);
	cubin_copies_send(&library, &writer, true);
	assert_int_equal(lost(), 2);
	read_ring();
	assert_whole(0, 100, 1);
	assert_int_equal(nr_received, 2);
	/* nothing is left */
	send(true);
	send(false);
	assert_int_equal(nr_received, 2);
	assert_int_equal(lost(), 2);
}

static void cubins_without_a_number_are_lost(void **state)
{
	(void)state;
	take(100, 1);
	crc_result = 1;
	send(false);
	assert_int_equal(lost(), 1);
	take(100, 2);
	library.get_cubin_crc = NULL;
	send(false);
	assert_int_equal(lost(), 2);
	assert_int_equal(nr_received, 0);
}

static void code_that_is_loaded_again_is_not_sent_again(void **state)
{
	(void)state;
	take(100, 5);
	take(100, 5);
	send(false);
	take(100, 5);
	take(100, 5 + 1024); /* takes the place of the first */
	send(false);
	assert_int_equal(nr_pieces, 2);
	assert_whole(0, 100, 5);
	assert_whole(1, 100, 5 + 1024);
	send(true);
	assert_int_equal(lost(), 0);
	assert_int_equal(nr_pieces, 2);
}

/* The log keeps the pieces of one cubin at a time. */
static void pieces_of_one_cubin_come_without_others_between(void **state)
{
	(void)state;
	take(3u << 20, 1);
	cubin_copies_send(&library, &writer, false);
	read_ring();
	assert_true(received[0].got < received[0].size);
	take(100, 2);
	take(100, 3);
	while (nr_received == 1)
		send(false);
	assert_int_equal(received[0].got, received[0].size);
	send(true);
	assert_int_equal(nr_received, 3);
	assert_whole(1, 100, 2);
	assert_whole(2, 100, 3);
}

static void *take_many(void *argument)
{
	const uint64_t first = (uint64_t)(uintptr_t)argument;

	for (uint64_t i = 0; i < 50; i++)
		take(1000 + 1000 * (i % 50), first + i);
	return NULL;
}

static void threads_may_take_at_once(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_many, (void *)(50 * i + 1)),
				 0);
	for (int i = 0; i < 50; i++)
		send(false);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 50; i++)
		send(false);
	assert_int_equal(lost(), 0);
	assert_int_equal(nr_received, 200);
	for (uint32_t i = 0; i < nr_received; i++) {
		uint64_t crc = received[i].crc;

		assert_whole(i, 1000 + 1000 * ((crc - 1) % 50), crc);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(copies_arrive_whole_in_the_order_of_their_loads),
		TEST(large_copies_take_several_steps),
		TEST(what_is_no_cubin_with_lines_is_not_copied),
		TEST(copies_are_bounded),
		TEST(the_last_step_counts_what_finds_no_room),
		TEST(cubins_without_a_number_are_lost),
		TEST(code_that_is_loaded_again_is_not_sent_again),
		TEST(pieces_of_one_cubin_come_without_others_between),
		TEST(threads_may_take_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
