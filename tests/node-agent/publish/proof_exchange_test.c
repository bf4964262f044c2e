#include "tests/support/cmocka_test.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/munge/munge_library.h"
#include "node-agent/publish/proof_exchange.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "proto/trust/key_set.h"
#include "tests/support/fake_munge/fake_munge.h"

#define WAIT_MS 20000
#define SERVER  "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define CLIENT  "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

struct fixture {
	int epoll_fd;
	struct proof_exchange *exchange;
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fake_munge_reset();
	fixture->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	fixture->encoder = batch_encoder_create();
	fixture->decoder = batch_decoder_create();
	assert_int_equal(proof_exchange_create(fixture->epoll_fd, &fixture->exchange), 0);
	proof_exchange_begin(fixture->exchange, SERVER, CLIENT);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	proof_exchange_destroy(fixture->exchange);
	fake_munge_hang(false);
	batch_encoder_destroy(fixture->encoder);
	batch_decoder_destroy(fixture->decoder);
	close(fixture->epoll_fd);
	free(fixture);
	return 0;
}

static void await_news(const struct fixture *fixture)
{
	struct pollfd news = {.fd = fixture->epoll_fd, .events = POLLIN};

	assert_int_equal(poll(&news, 1, WAIT_MS), 1);
}

/* Returns the credential of the next proof, which the caller owns. */
static char *next_credential(const struct fixture *fixture)
{
	struct message message;
	const uint8_t *frame;
	size_t size;

	while ((frame = proof_exchange_step(fixture->exchange, true, &size)) == NULL)
		await_news(fixture);
	assert_int_equal(batch_decode(fixture->decoder, frame, size, &message), 0);
	assert_int_equal(message.type, MESSAGE_PROOF);
	proof_exchange_sent(fixture->exchange);
	return strndup(message.proof.text.data, message.proof.text.size);
}

static bool take(const struct fixture *fixture, const struct message *message)
{
	const uint8_t *frame;
	size_t size;

	assert_int_equal(batch_encode(fixture->encoder, message, &frame, &size), 0);
	return proof_exchange_take(fixture->exchange, frame, size);
}

static bool take_answer(const struct fixture *fixture)
{
	return take(fixture, &(struct message){.type = MESSAGE_PROOF, .proof.text = {"alice", 5}});
}

static bool take_refusal(const struct fixture *fixture, uint32_t code)
{
	return take(fixture, &(struct message){.type = MESSAGE_REFUSE,
					       .refuse = {.code = code, .reason = {"why", 3}}});
}

static void a_proof_is_over_both_keys(void **state)
{
	const struct fixture *fixture = *state;
	char *credential, *text, *error, expected[KEY_SET_PROOF];
	size_t size;
	uid_t uid;

	assert_null(proof_exchange_step(fixture->exchange, false, &size));
	assert_int_equal(fake_munge_encoded(), 0); /* it would get old until it can be sent */
	fake_munge_user(54321);
	credential = next_credential(fixture);
	assert_int_equal(munge_library_decode(credential, &text, &uid, &error), 0);
	key_set_proof(SERVER, CLIENT, expected);
	assert_string_equal(text, expected);
	assert_int_equal(uid, 54321);
	free(credential);
	free(text);
	assert_false(proof_exchange_is_done(fixture->exchange));
	assert_true(take_answer(fixture));
	assert_true(proof_exchange_is_done(fixture->exchange));
	assert_null(proof_exchange_step(fixture->exchange, true, &size));
}

static void a_proof_without_an_answer_is_followed_by_a_fresh_one(void **state)
{
	const struct fixture *fixture = *state;
	char *first = next_credential(fixture), *second = next_credential(fixture);

	assert_string_not_equal(first, second);
	free(first);
	free(second);
	assert_string_equal(proof_exchange_problem(fixture->exchange), "");
}

/* The answer to the first proof comes while the second credential is made, and munged fails then. */
static void an_answer_holds_whatever_becomes_of_a_later_credential(void **state)
{
	const struct fixture *fixture = *state;
	size_t size;

	free(next_credential(fixture));
	fake_munge_hang(true);
	do
		await_news(fixture); /* until it is time for another one */
	while (proof_exchange_step(fixture->exchange, true, &size) == NULL &&
	       proof_exchange_wants(fixture->exchange));
	fake_munge_await_call();
	assert_true(take_answer(fixture));
	fake_munge_gone(true);
	fake_munge_hang(false);
	await_news(fixture);
	assert_null(proof_exchange_step(fixture->exchange, true, &size));
	assert_true(proof_exchange_is_done(fixture->exchange));
	assert_string_equal(proof_exchange_problem(fixture->exchange), "");
}

static void a_refusal_is_told_until_a_proof_is_taken(void **state)
{
	const struct fixture *fixture = *state;

	free(next_credential(fixture));
	assert_true(take_refusal(fixture, REFUSE_UNPROVEN));
	assert_string_equal(proof_exchange_problem(fixture->exchange), "why");
	assert_false(take_refusal(fixture, REFUSE_LIMIT)); /* the caller's */
	free(next_credential(fixture));
	assert_true(take_answer(fixture));
	assert_string_equal(proof_exchange_problem(fixture->exchange), "");
}

static void an_aggregator_that_forgot_us_gets_another_proof(void **state)
{
	const struct fixture *fixture = *state;

	free(next_credential(fixture));
	assert_true(take_answer(fixture));
	assert_false(take(fixture, &(struct message){.type = MESSAGE_PONG, .ping.token = 3}));
	assert_false(take_refusal(fixture, REFUSE_NO_HELLO));
	assert_true(proof_exchange_is_done(fixture->exchange));
	assert_true(take_refusal(fixture, REFUSE_UNPROVEN));
	assert_false(proof_exchange_is_done(fixture->exchange));
	free(next_credential(fixture));
	assert_int_equal(fake_munge_encoded(), 2);
}

static void a_connection_that_was_lost_gets_a_credential_of_its_own(void **state)
{
	const struct fixture *fixture = *state;
	size_t size;

	fake_munge_hang(true);
	assert_null(proof_exchange_step(fixture->exchange, true, &size));
	fake_munge_await_call();
	proof_exchange_begin(fixture->exchange, "", "");
	assert_null(proof_exchange_step(fixture->exchange, true, &size));
	assert_false(proof_exchange_wants(fixture->exchange));
	fake_munge_hang(false);
	char *credential = next_credential(fixture);
	assert_int_equal(fake_munge_encoded(), 2);
	assert_non_null(strstr(credential, ":2:"));
	free(credential);
}

static void a_munged_that_comes_later_is_found(void **state)
{
	const struct fixture *fixture = *state;
	size_t size;

	fake_munge_gone(true);
	while (!*proof_exchange_problem(fixture->exchange)) {
		assert_null(proof_exchange_step(fixture->exchange, true, &size));
		if (!*proof_exchange_problem(fixture->exchange))
			await_news(fixture);
	}
	assert_non_null(strstr(proof_exchange_problem(fixture->exchange), "systemctl start munge"));
	fake_munge_gone(false);
	free(next_credential(fixture));
	assert_true(take_answer(fixture));
	assert_string_equal(proof_exchange_problem(fixture->exchange), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_proof_is_over_both_keys),
		TEST(a_proof_without_an_answer_is_followed_by_a_fresh_one),
		TEST(an_answer_holds_whatever_becomes_of_a_later_credential),
		TEST(a_refusal_is_told_until_a_proof_is_taken),
		TEST(an_aggregator_that_forgot_us_gets_another_proof),
		TEST(a_connection_that_was_lost_gets_a_credential_of_its_own),
		TEST(a_munged_that_comes_later_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
