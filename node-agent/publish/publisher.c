#include "publisher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock_exchange.h"
#include "dealer_socket.h"
#include "hello_answer.h"
#include "hello_copy.h"
#include "order_inbox.h"
#include "ranks_end.h"
#include "send_window.h"

#include "base/clock.h"
#include "base/error_text.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "proto/batch/message_seq.h"

#define PING_MS         1000u
#define SILENCE_MS      5000u
#define HELLO_MS        500u /* until a HELLO without an answer is sent again; then it doubles */
#define STEP_FRAMES_MAX 256u /* received at once, so that a flood can't hold the loop */
#define STEP_ROUNDS_MAX 16u
#define MS              1000000ull

enum state {
	STATE_CLOSED,   /* no socket; the next one opens at retry_ns */
	STATE_HELLO,    /* HELLO is to be sent */
	STATE_WAITING,  /* HELLO sent */
	STATE_WELCOMED, /* frames may be sent */
};

struct publisher {
	struct dealer_socket *dealer; /* owns */
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
	struct send_window *window;
	struct hello_copy hello;
	char profile[HELLO_ANSWER_PLACE]; /* "": not told */
	bool welcomed;                    /* at least once */
	enum event_way way;
	uint64_t window_bytes, ping_ns, silence_ns;
	enum state state;
	uint64_t next_seq; /* the next frame to send on this connection */
	uint64_t in_flight_bytes;
	uint32_t credit_frames;
	uint64_t credit_bytes;
	uint32_t round_ms; /* of publisher_round_ms() */
	uint64_t now_ns, heard_ns, progress_ns, pinged_ns, retry_ns;
	uint64_t hello_ns, hello_gap_ns; /* when HELLO is sent again, and how long after that */
	struct backoff backoff;
	struct clock_exchange clocks;
	struct order_inbox orders;
	bool has_more;
	uint64_t durable_seq; /* answer to a question (hello.asks) */
	struct ranks_end ranks_end;
	int failed; /* -errno that stays */
	char error[HELLO_ANSWER_ERROR];
};

static void begin_hello(struct publisher *publisher)
{
	publisher->state = STATE_HELLO;
	publisher->hello_gap_ns = HELLO_MS * MS;
	ranks_end_forget_told(&publisher->ranks_end);
}

static int open_connection(struct publisher *publisher)
{
	int r = dealer_socket_open(publisher->dealer);

	if (r)
		return r;
	begin_hello(publisher);
	publisher->heard_ns = publisher->progress_ns = publisher->now_ns;
	publisher->pinged_ns = 0;
	return 0;
}

static void close_until(struct publisher *publisher, uint64_t retry_ns)
{
	dealer_socket_close(publisher->dealer);
	publisher->state = STATE_CLOSED;
	publisher->retry_ns = retry_ns;
}

static void reconnect_later(struct publisher *publisher)
{
	close_until(publisher, publisher->now_ns + backoff_next_ns(&publisher->backoff));
}

/* ---- receiving */

static void acknowledge(struct publisher *publisher, uint64_t seq)
{
	uint64_t before = send_window_acked_seq(publisher->window);

	if (seq <= before || seq > send_window_last_seq(publisher->window))
		return; /* a repeated or impossible number */
	publisher->in_flight_bytes -=
		send_window_bytes(publisher->window, before + 1,
				  seq < publisher->next_seq ? seq : publisher->next_seq - 1);
	send_window_ack(publisher->window, seq);
	if (publisher->next_seq <= seq)
		publisher->next_seq = seq + 1;
	publisher->progress_ns = publisher->now_ns;
	backoff_reset(&publisher->backoff);
}

void publisher_fold(struct publisher *publisher)
{
	if (publisher->way != EVENT_WAY_ASKS)
		return;
	publisher->way = EVENT_WAY_FOLDS;
	close_until(publisher, UINT64_MAX);
}

static int on_welcome(struct publisher *publisher, const struct message_welcome *welcome)
{
	const uint64_t acked = send_window_acked_seq(publisher->window);

	if (!hello_answer_check(&publisher->hello.message, welcome, acked,
				send_window_last_seq(publisher->window), publisher->error))
		return publisher->failed = -EPROTO;
	publisher->durable_seq = welcome->durable_seq;
	if (publisher->hello.message.asks)
		publisher->state = STATE_WELCOMED;
	if (publisher->state == STATE_WELCOMED)
		return 0; /* the answer to a question, or to a repeated HELLO */
	if (publisher->way == EVENT_WAY_ASKS && !welcome->folds) {
		publisher->way = EVENT_WAY_SENDS;
		begin_hello(publisher); /* so far the aggregator has answered, and has no session */
		return 0;
	}
	publisher_fold(publisher);
	if (publisher->way == EVENT_WAY_FOLDS)
		return 0;
	publisher->next_seq = acked + 1;
	publisher->in_flight_bytes = 0;
	acknowledge(publisher, welcome->durable_seq);
	publisher->credit_frames = welcome->window_frames;
	publisher->credit_bytes = welcome->window_bytes;
	publisher->round_ms = 0;
	publisher->progress_ns = publisher->now_ns;
	if (!publisher->welcomed)
		hello_answer_place(welcome, publisher->profile);
	publisher->error[0] = '\0';
	publisher->welcomed = true;
	publisher->state = STATE_WELCOMED;
	clock_exchange_restart(&publisher->clocks, publisher->now_ns);
	return 0;
}

static int on_refuse(struct publisher *publisher, const struct message_refuse *refuse)
{
	const enum hello_answer_refusal refusal =
		hello_answer_refusal(&publisher->hello.message, refuse, publisher->error);

	if (refusal == HELLO_ANSWER_NEVER)
		return publisher->failed = -EPROTO;
	if (refusal == HELLO_ANSWER_LATER)
		reconnect_later(publisher);
	else if (publisher->state == STATE_WELCOMED)
		begin_hello(publisher);
	return 0;
}

static int on_frame(struct publisher *publisher, const uint8_t *frame, size_t size)
{
	struct message message;
	int r = batch_decode(publisher->decoder, frame, size, &message);

	if (r)
		return r == -ENOMEM ? r : 0; /* a newer aggregator may send unknown kinds */
	publisher->heard_ns = publisher->now_ns;
	publisher->pinged_ns = 0;
	switch (message.type) {
	case MESSAGE_WELCOME:
		return on_welcome(publisher, &message.welcome);
	case MESSAGE_REFUSE:
		return on_refuse(publisher, &message.refuse);
	case MESSAGE_ACK:
		if (publisher->state != STATE_WELCOMED)
			break;
		acknowledge(publisher, message.ack.seq);
		publisher->credit_frames = message.ack.window_frames;
		publisher->credit_bytes = message.ack.window_bytes;
		publisher->round_ms = message.ack.round_ms;
		break;
	case MESSAGE_CLOCK:
		/* now_ns was read before the answer came, and would make the round trip too short. */
		clock_exchange_answered(&publisher->clocks, &message.clock, clock_now_ns());
		break;
	case MESSAGE_CONTROL:
		if (!publisher->hello.message.asks)
			order_inbox_receive(&publisher->orders, &message.control);
		break;
	default:
		break;
	}
	return 0;
}

static int receive(struct publisher *publisher)
{
	for (uint32_t i = 0; i < STEP_FRAMES_MAX; i++) {
		const uint8_t *frame;
		size_t size;
		int r = dealer_socket_receive(publisher->dealer, &frame, &size);

		if (r <= 0)
			return r;
		r = on_frame(publisher, frame, size);
		if (r)
			return r;
	}
	return 0;
}

/* ---- sending */

/* Returns 1: the message is on its way; 0: it cannot be sent now; -errno. */
static int send_message(struct publisher *publisher, const struct message *message)
{
	const uint8_t *frame;
	size_t size;
	int r = batch_encode(publisher->encoder, message, &frame, &size);

	return r ? r : dealer_socket_send(publisher->dealer, frame, size);
}

static int send_hello(struct publisher *publisher)
{
	struct message message = {.type = MESSAGE_HELLO, .hello = publisher->hello.message};

	message.hello.offers = publisher->way == EVENT_WAY_ASKS;
	int r = send_message(publisher, &message);
	if (r != 1)
		return r;
	if (publisher->hello_gap_ns == HELLO_MS * MS)
		publisher->heard_ns = publisher->now_ns; /* an answer is awaited from now on */
	publisher->state = STATE_WAITING;
	publisher->hello_ns = publisher->now_ns + publisher->hello_gap_ns;
	publisher->hello_gap_ns *= 2;
	return 0;
}

static bool has_credit(const struct publisher *publisher, size_t size)
{
	uint64_t in_flight = publisher->next_seq - 1 - send_window_acked_seq(publisher->window);

	/* A single frame larger than the credit must pass. */
	return in_flight == 0 || (in_flight < publisher->credit_frames &&
				  publisher->in_flight_bytes + size <= publisher->credit_bytes);
}

static int send_frames(struct publisher *publisher)
{
	while (publisher->next_seq <= send_window_last_seq(publisher->window)) {
		size_t size;
		const uint8_t *frame =
			send_window_frame(publisher->window, publisher->next_seq, &size);

		if (!has_credit(publisher, size))
			return 0;
		int r = dealer_socket_send(publisher->dealer, frame, size);
		if (r != 1)
			return r;
		if (publisher->next_seq == send_window_acked_seq(publisher->window) + 1)
			publisher->progress_ns = publisher->now_ns;
		publisher->in_flight_bytes += size;
		publisher->next_seq++;
	}
	return 0;
}

static int send_ping(struct publisher *publisher)
{
	const uint64_t now_ns = publisher->now_ns;
	const struct message message = {
		.type = MESSAGE_PING,
		.ping = {now_ns, ranks_end_age_ms(&publisher->ranks_end, now_ns)}};
	int r = send_message(publisher, &message);

	if (r >= 0)
		publisher->pinged_ns = now_ns;
	publisher->ranks_end.untold &= r != 1;
	return r < 0 ? r : 0;
}

/* Also before WELCOME, for which an aggregator with a full disk makes us wait. */
static int tell_end(struct publisher *publisher)
{
	if (!publisher->ranks_end.untold || publisher->state < STATE_WAITING)
		return 0;
	return send_ping(publisher);
}

/* Sends clock questions and results, and drops them if there is no room. */
static int send_clock(struct publisher *publisher)
{
	struct message message = {.type = MESSAGE_CLOCK};
	int r = 0;

	if (clock_exchange_result(&publisher->clocks, clock_now_ns(), &message.clock)) {
		message.clock.realtime_offset_ns = clock_realtime_offset_ns();
		r = send_message(publisher, &message);
	}
	if (r < 0 || !clock_exchange_wants(&publisher->clocks, clock_now_ns()))
		return r < 0 ? r : 0;
	message.clock = (struct message_clock){.kind = CLOCK_ASK, .t1_ns = clock_now_ns()};
	r = send_message(publisher, &message);
	if (r >= 0)
		clock_exchange_asked(&publisher->clocks, message.clock.t1_ns);
	return r < 0 ? r : 0;
}

static int send_taken(struct publisher *publisher)
{
	struct message message = {.type = MESSAGE_CONTROL};

	int r = order_inbox_tell(&publisher->orders, &message.control)
			? send_message(publisher, &message)
			: 0;
	return r < 0 ? r : 0;
}

/* ---- time */

static bool in_flight(const struct publisher *publisher)
{
	return publisher->state == STATE_WELCOMED &&
	       publisher->next_seq - 1 > send_window_acked_seq(publisher->window);
}

/* Waiting for a connection is no silence, since libzmq tries to connect for ever. */
static bool is_silent(const struct publisher *publisher)
{
	if (publisher->state >= STATE_WAITING &&
	    publisher->now_ns - publisher->heard_ns >= publisher->silence_ns)
		return true;
	return in_flight(publisher) &&
	       publisher->now_ns - publisher->progress_ns >= 2 * publisher->silence_ns;
}

static int check_time(struct publisher *publisher)
{
	if (publisher->state == STATE_CLOSED) {
		if (publisher->now_ns < publisher->retry_ns)
			return 0;
		if (open_connection(publisher))
			reconnect_later(publisher);
		return 0;
	}
	if (is_silent(publisher)) {
		reconnect_later(publisher);
		return 0;
	}
	/* ZeroMQ may have put HELLO into the pipe of a connection that was about to end. */
	if (publisher->state == STATE_WAITING && publisher->now_ns >= publisher->hello_ns)
		publisher->state = STATE_HELLO;
	if (publisher->state == STATE_WELCOMED && publisher->pinged_ns == 0 &&
	    publisher->now_ns - publisher->heard_ns >= publisher->ping_ns)
		return send_ping(publisher);
	return 0;
}

uint64_t publisher_deadline_ns(const struct publisher *publisher)
{
	uint64_t deadline_ns = UINT64_MAX;

	if (publisher->has_more)
		return 0;
	if (publisher->state == STATE_CLOSED)
		return publisher->retry_ns;
	if (publisher->state == STATE_HELLO)
		return deadline_ns;
	deadline_ns = publisher->heard_ns + publisher->silence_ns;
	if (publisher->state == STATE_WAITING && publisher->hello_ns < deadline_ns)
		deadline_ns = publisher->hello_ns;
	if (publisher->state == STATE_WELCOMED && publisher->pinged_ns == 0 &&
	    publisher->heard_ns + publisher->ping_ns < deadline_ns)
		deadline_ns = publisher->heard_ns + publisher->ping_ns;
	if (publisher->state == STATE_WELCOMED &&
	    clock_exchange_deadline_ns(&publisher->clocks) < deadline_ns)
		deadline_ns = clock_exchange_deadline_ns(&publisher->clocks);
	if (in_flight(publisher) &&
	    publisher->progress_ns + 2 * publisher->silence_ns < deadline_ns)
		deadline_ns = publisher->progress_ns + 2 * publisher->silence_ns;
	return deadline_ns;
}

int publisher_step(struct publisher *publisher, uint64_t now_ns)
{
	int r = publisher->failed;

	publisher->now_ns = now_ns;
	publisher->has_more = true;
	for (uint32_t i = 0; r == 0 && publisher->has_more && i < STEP_ROUNDS_MAX; i++) {
		/* The next connection may lead to another aggregator, so HELLO comes first. */
		if (dealer_socket_was_lost(publisher->dealer) && publisher->state != STATE_CLOSED)
			begin_hello(publisher);
		r = receive(publisher);
		if (r == 0)
			r = check_time(publisher);
		if (r == 0 && publisher->state == STATE_HELLO)
			r = send_hello(publisher);
		r = r ?: tell_end(publisher);
		if (r == 0 && publisher->state == STATE_WELCOMED)
			r = send_frames(publisher)
				?: send_clock(publisher) ?: send_taken(publisher);
		publisher->has_more = dealer_socket_has_work(publisher->dealer);
	}
	if (r && !publisher->failed) {
		publisher->failed = r;
		snprintf(publisher->error, sizeof(publisher->error), "%s", strerror(-r));
	}
	return r;
}

void publisher_ranks_ended(struct publisher *publisher, uint64_t ended_ns)
{
	ranks_end_set(&publisher->ranks_end, ended_ns);
}

/* ---- the rest */

static int set_up(struct publisher *publisher, const struct publisher_options *options)
{
	publisher->encoder = batch_encoder_create();
	publisher->decoder = batch_decoder_create();
	publisher->window = send_window_create();
	if (!publisher->encoder || !publisher->decoder || !publisher->window)
		return -ENOMEM;
	int r = dealer_socket_create(options->endpoint, options->zmq_context, options->keys,
				     &publisher->dealer);
	if (r)
		return r;
	if (options->endpoint)
		return open_connection(publisher);
	publisher->retry_ns = UINT64_MAX;
	return 0;
}

int publisher_create(const struct publisher_options *options, struct publisher **publisher,
		     char **error)
{
	struct publisher *new_publisher = calloc(1, sizeof(*new_publisher));
	int r = -ENOMEM;

	if (error)
		*error = NULL;
	if (new_publisher) {
		new_publisher->window_bytes = options->window_bytes;
		new_publisher->ping_ns = (options->ping_ms ?: PING_MS) * MS;
		new_publisher->silence_ns = (options->silence_ms ?: SILENCE_MS) * MS;
		backoff_init(&new_publisher->backoff);
		clock_exchange_init(&new_publisher->clocks, options->clock_ms);
		new_publisher->next_seq = 1;
		hello_copy_init(&new_publisher->hello, &options->hello);
		new_publisher->way = options->hello.offers ? EVENT_WAY_ASKS : EVENT_WAY_SENDS;
		r = set_up(new_publisher, options);
	}
	*publisher = r ? NULL : new_publisher;
	if (r == 0)
		return 0;
	publisher_destroy(new_publisher);
	return error_text_set(error, r, "connect: %s: %s",
			      options->endpoint ? options->endpoint : "(not known yet)",
			      dealer_socket_error(r));
}

int publisher_connect(struct publisher *publisher, const char *endpoint, const struct key_set *keys)
{
	int r = dealer_socket_aim(publisher->dealer, endpoint, keys);
	if (r)
		return r;
	close_until(publisher, publisher->now_ns);
	if (publisher->way == EVENT_WAY_FOLDS)
		publisher->way = EVENT_WAY_SENDS;
	return 0;
}

void publisher_destroy(struct publisher *publisher)
{
	if (!publisher)
		return;
	dealer_socket_destroy(publisher->dealer);
	send_window_destroy(publisher->window);
	batch_decoder_destroy(publisher->decoder);
	batch_encoder_destroy(publisher->encoder);
	free(publisher);
}

int publisher_fd(const struct publisher *publisher)
{
	return dealer_socket_fd(publisher->dealer);
}

int publisher_send(struct publisher *publisher, struct message *message)
{
	const uint8_t *frame;
	size_t size;

	message_seq_set(message, send_window_last_seq(publisher->window) + 1);
	int r = batch_encode(publisher->encoder, message, &frame, &size);
	return r ? r : send_window_push(publisher->window, frame, size, publisher->now_ns);
}

void publisher_give_back(struct publisher *publisher)
{
	struct batch_encoder *encoder = batch_encoder_create();

	if (!encoder)
		return;
	batch_encoder_destroy(publisher->encoder);
	publisher->encoder = encoder;
}

bool publisher_has_room(const struct publisher *publisher)
{
	return send_window_size(publisher->window) < publisher->window_bytes;
}

uint64_t publisher_last_seq(const struct publisher *publisher)
{
	return send_window_last_seq(publisher->window);
}

uint64_t publisher_acked_seq(const struct publisher *publisher)
{
	return publisher->hello.message.asks ? publisher->durable_seq
					     : send_window_acked_seq(publisher->window);
}

uint64_t publisher_oldest_ns(const struct publisher *publisher)
{
	return send_window_oldest_ns(publisher->window);
}

uint64_t publisher_refusals(const struct publisher *publisher)
{
	return dealer_socket_refusals(publisher->dealer);
}

bool publisher_has_reached(const struct publisher *publisher)
{
	return dealer_socket_has_reached(publisher->dealer);
}

enum event_way publisher_way(const struct publisher *publisher)
{
	return publisher->way;
}

bool publisher_connected(const struct publisher *publisher)
{
	return publisher->state == STATE_WELCOMED;
}

uint32_t publisher_round_ms(const struct publisher *publisher)
{
	return publisher->round_ms;
}

uint64_t publisher_credit_bytes(const struct publisher *publisher)
{
	return publisher->credit_bytes;
}

bool publisher_welcomed(const struct publisher *publisher, const char **profile)
{
	*profile = publisher->profile;
	return publisher->welcomed;
}

bool publisher_take_order(struct publisher *publisher, struct message_control *order)
{
	return order_inbox_take(&publisher->orders, order);
}

void publisher_answer_order(struct publisher *publisher, const struct message_control *taken)
{
	order_inbox_answer(&publisher->orders, taken);
}

bool publisher_clock(const struct publisher *publisher, uint64_t now_ns,
		     struct clock_exchange_estimate *estimate)
{
	return clock_exchange_estimate(&publisher->clocks, now_ns, estimate);
}

const char *publisher_error(const struct publisher *publisher)
{
	return *publisher->error ? publisher->error : dealer_socket_problem(publisher->dealer);
}
