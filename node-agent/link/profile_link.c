#include "profile_link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "link_lag.h"
#include "page_sender.h"

#include "aggregator/store/store_life.h"
#include "base/clock.h"
#include "base/log.h"
#include "node-agent/publish/clock_exchange.h"
#include "node-agent/publish/publisher.h"
#include "proto/trust/key_set.h"

#define ROUND_MS     10000u
#define FIRST_MS     1000u /* from the first round to the second; then it doubles, up to ROUND_MS */
#define AGAIN_MIN_MS 100u /* until a link that failed begins anew */
#define AGAIN_MAX_MS 60000u
#define CLOCK_MS     10000u
#define PING_MS      500u /* by them rank 0 knows that ranks run (job_keeper.h) */
#define NS_PER_MS    1000000ull

/* What other threads ask for; guarded by the lock. */
struct wishes {
	char *endpoint; /* owns */
	struct key_set keys;
	bool has_keys, finish, is_complete;
	uint32_t give_up_ms; /* with finish */
	uint64_t ended_ns;   /* of profile_link_ranks_ended() */
};

struct profile_link {
	struct profile_link_options options;
	int wake_fd;
	pthread_mutex_t lock;
	struct wishes wishes;
	bool welcomed; /* guarded by the lock, as the next one */
	char place[PROFILE_LINK_PLACE_MAX];
	/* the loop's own */
	char *endpoint; /* owns; NULL: not known yet */
	struct key_set keys;
	bool has_keys;
	struct publisher *publisher; /* owns; NULL: none, until again_ns */
	struct page_sender *sender;  /* owns */
	uint64_t round_ns, again_ns; /* times of the next round, and of the next publisher */
	uint64_t began_ns;           /* the last round */
	uint64_t give_up_ns;         /* 0: not finishing */
	uint32_t again_ms, gap_ms;
	uint64_t ended_ns; /* of profile_link_ranks_ended() */
	bool has_sent_all, is_complete, problem_said;
	struct link_lag lag;
	atomic_uint_fast64_t lost_ns; /* of profile_link_lost_ns() */
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- the connection */

static void begin_anew(struct profile_link *link, uint64_t now_ns)
{
	if (publisher_acked_seq(link->publisher))
		link->again_ms = AGAIN_MIN_MS;
	publisher_destroy(link->publisher);
	link->publisher = NULL;
	link->has_sent_all = false;
	link->again_ns = now_ns + link->again_ms * NS_PER_MS;
	link->again_ms = link->again_ms * 2 < AGAIN_MAX_MS ? link->again_ms * 2 : AGAIN_MAX_MS;
	page_sender_forget(link->sender);
}

static int open_publisher(struct profile_link *link, uint64_t now_ns)
{
	struct publisher_options options = {
		.endpoint = link->endpoint,
		.keys = link->has_keys ? &link->keys : NULL,
		.hello = link->options.hello,
		.clock_ms = CLOCK_MS,
		.ping_ms = PING_MS,
	};
	char *error = NULL;

	options.hello.folds = true;
	options.hello.version_min = options.hello.version_max = WIRE_VERSION_FOLDS;
	if (getrandom(options.hello.epoch, WIRE_EPOCH_SIZE, 0) != WIRE_EPOCH_SIZE)
		return -EIO;
	int r = publisher_create(&options, &link->publisher, &error);
	if (r)
		log_warning("%s", error ? error : strerror(-r));
	free(error);
	link->round_ns = now_ns;
	link->gap_ms = FIRST_MS;
	return r;
}

static void take_wishes(struct profile_link *link, uint64_t now_ns)
{
	uint64_t count;

	while (read(link->wake_fd, &count, sizeof(count)) == sizeof(count))
		;
	pthread_mutex_lock(&link->lock);
	struct wishes wishes = link->wishes;
	link->wishes.endpoint = NULL;
	pthread_mutex_unlock(&link->lock);
	link->ended_ns = wishes.ended_ns;
	if (wishes.finish && !link->give_up_ns) {
		link->give_up_ns = now_ns + wishes.give_up_ms * NS_PER_MS;
		link->is_complete = wishes.is_complete;
		/* ZeroMQ may wait for seconds by now from one try to connect to the next. */
		if (link->publisher && !publisher_connected(link->publisher)) {
			begin_anew(link, now_ns);
			link->again_ns = now_ns;
			link->again_ms = AGAIN_MIN_MS;
		}
	}
	if (!wishes.endpoint)
		return;
	free(link->endpoint);
	link->endpoint = wishes.endpoint;
	link->keys = wishes.keys;
	link->has_keys = wishes.has_keys;
	/* The frames of a round belong to the aggregator that holds the rounds before. */
	if (link->publisher)
		begin_anew(link, now_ns);
	link->again_ns = now_ns;
}

/* ---- rounds */

static int send_message(void *context, struct message *message)
{
	return publisher_send(context, message);
}

static bool is_acknowledged(const struct profile_link *link)
{
	return publisher_acked_seq(link->publisher) == publisher_last_seq(link->publisher);
}

static int send_bye(struct profile_link *link)
{
	struct message bye = {.type = MESSAGE_BYE};

	link->has_sent_all = true;
	return link->is_complete ? publisher_send(link->publisher, &bye) : 0;
}

/* The time of the next round: sooner while somebody watches. */
static uint64_t due_ns(const struct profile_link *link)
{
	const uint32_t watched_ms = publisher_round_ms(link->publisher);

	return watched_ms ? earlier(link->round_ns, link->began_ns + watched_ms * NS_PER_MS)
			  : link->round_ns;
}

/* The last round waits for no other one: it follows what is still on its way. */
static int send_round(struct profile_link *link, uint64_t now_ns)
{
	bool is_last = link->give_up_ns != 0;

	if (link->has_sent_all || !publisher_connected(link->publisher) ||
	    (!is_last && (now_ns < due_ns(link) || !is_acknowledged(link))))
		return 0;
	link->began_ns = now_ns;
	link->round_ns = now_ns + link->gap_ms * NS_PER_MS;
	link->gap_ms = link->gap_ms * 2 < ROUND_MS ? link->gap_ms * 2 : ROUND_MS;
	/* The next round has what is committed after this. At the last round the store is closed. */
	if (is_last)
		store_life_want_no_more(link->options.store_path);
	else if (publisher_round_ms(link->publisher))
		store_life_want(link->options.store_path);
	int r = page_sender_send(link->sender, link->options.store_path,
				 is_last ? UINT64_MAX : publisher_credit_bytes(link->publisher),
				 send_message, link->publisher);
	if (r == 1)
		return is_last ? -EBUSY : 0;
	return r == 0 && is_last ? send_bye(link) : r;
}

static void obey(struct profile_link *link, uint64_t now_ns)
{
	struct clock_exchange_estimate estimate;
	struct message_control order, taken;

	if (!publisher_take_order(link->publisher, &order))
		return;
	bool known = publisher_clock(link->publisher, now_ns, &estimate);
	link->options.obey(link->options.context, &order, known ? &estimate : NULL, &taken);
	publisher_answer_order(link->publisher, &taken);
}

/* ---- the loop */

/* Says once why the aggregator does not accept us for now. */
static void say_problem(struct profile_link *link)
{
	const char *why = publisher_error(link->publisher);

	if (*why && !link->problem_said)
		log_warning("connect: %s: %s; we keep trying", link->endpoint, why);
	link->problem_said |= *why != '\0';
}

/* 0 or -errno of what cannot be put right. */
static int step(struct profile_link *link, uint64_t now_ns)
{
	take_wishes(link, now_ns);
	if (!link->publisher && link->endpoint && now_ns >= link->again_ns) {
		int r = open_publisher(link, now_ns);

		if (r)
			return r;
	}
	if (!link->publisher)
		return 0;
	publisher_ranks_ended(link->publisher, link->ended_ns);
	int r = publisher_step(link->publisher, now_ns);
	if (r == 0) {
		obey(link, now_ns);
		r = send_round(link, now_ns);
	}
	if (r == 0)
		r = publisher_step(link->publisher, now_ns);
	if (r == 0) {
		say_problem(link);
		return 0;
	}
	log_debug("the link of this node's profile begins anew: %s",
		  *publisher_error(link->publisher) ? publisher_error(link->publisher)
						    : strerror(-r));
	begin_anew(link, now_ns);
	return r == -ENOMEM ? r : 0;
}

static void note_place(struct profile_link *link)
{
	const char *place;

	if (!link->publisher || !publisher_welcomed(link->publisher, &place) ||
	    (link->welcomed && strcmp(link->place, place) == 0))
		return;
	pthread_mutex_lock(&link->lock);
	link->welcomed = true;
	snprintf(link->place, sizeof(link->place), "%s", place);
	pthread_mutex_unlock(&link->lock);
}

static void note_loss(struct profile_link *link, uint64_t now_ns)
{
	if (!link->endpoint || (link->publisher && publisher_connected(link->publisher)))
		atomic_store(&link->lost_ns, 0);
	else if (!atomic_load(&link->lost_ns))
		atomic_store(&link->lost_ns, now_ns);
}

/* Returns since when the aggregator owes us an answer; 0: it owes none. A link that was never welcome is not behind. */
static uint64_t owed_since_ns(const struct profile_link *link)
{
	const uint64_t lost_ns = atomic_load(&link->lost_ns);

	if (!link->welcomed)
		return 0;
	if (!link->publisher || is_acknowledged(link))
		return lost_ns;
	const uint64_t oldest_ns = publisher_oldest_ns(link->publisher);
	return lost_ns ? earlier(lost_ns, oldest_ns) : oldest_ns;
}

/* Tells of a lag while the job runs. During the last round its own limit is told in place of that. */
static void watch_lag(struct profile_link *link, uint64_t now_ns)
{
	uint64_t count, most_ns;

	if (link->give_up_ns)
		return;
	enum slow_spell_news news = link_lag_look(&link->lag, owed_since_ns(link), now_ns);
	link_lag_say(&link->lag, news, link->endpoint, !atomic_load(&link->lost_ns));
	if (link->options.behind && link_lag_take(&link->lag, &count, &most_ns))
		link->options.behind(link->options.context, count, most_ns);
}

static bool is_done(const struct profile_link *link)
{
	return link->publisher && link->has_sent_all && is_acknowledged(link);
}

static void wait_for_news(const struct profile_link *link, uint64_t now_ns)
{
	struct pollfd news[2] = {{.fd = link->wake_fd, .events = POLLIN}, {.fd = -1}};
	uint64_t until_ns = link->give_up_ns ? link->give_up_ns : UINT64_MAX;

	if (link->publisher) {
		news[1] = (struct pollfd){.fd = publisher_fd(link->publisher), .events = POLLIN};
		until_ns = earlier(until_ns, publisher_deadline_ns(link->publisher));
		if (publisher_connected(link->publisher) && is_acknowledged(link))
			until_ns = earlier(until_ns, due_ns(link));
	} else if (link->endpoint)
		until_ns = earlier(until_ns, link->again_ns);
	if (!link->give_up_ns)
		until_ns = earlier(until_ns, slow_spell_deadline_ns(&link->lag.spell));
	uint64_t wait_ms = until_ns <= now_ns ? 0 : (until_ns - now_ns) / NS_PER_MS + 1;
	poll(news, 2, wait_ms > ROUND_MS ? (int)ROUND_MS : (int)wait_ms);
}

/* Returns whether waiting for the last acknowledgement is of no use. */
static bool is_over(const struct profile_link *link, uint64_t now_ns)
{
	return link->give_up_ns && (now_ns >= link->give_up_ns || !link->endpoint ||
				    (link->publisher && publisher_refusals(link->publisher)));
}

int profile_link_run(struct profile_link *link)
{
	uint64_t now_ns = clock_now_ns();
	int r;

	while ((r = step(link, now_ns)) == 0 && !is_done(link) && !is_over(link, now_ns)) {
		note_loss(link, now_ns);
		note_place(link);
		watch_lag(link, now_ns);
		wait_for_news(link, now_ns);
		now_ns = clock_now_ns();
	}
	if (r || is_done(link))
		return r;
	if (link->publisher && publisher_refusals(link->publisher))
		return -EACCES;
	return link->endpoint ? -ETIMEDOUT : -ENOTCONN;
}

/* ---- other threads */

static void wake(struct profile_link *link)
{
	uint64_t one = 1;

	if (write(link->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full, so the loop is awake already */
}

int profile_link_connect(struct profile_link *link, const char *endpoint,
			 const struct key_set *keys)
{
	char *copy = strdup(endpoint);

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&link->lock);
	free(link->wishes.endpoint);
	link->wishes.endpoint = copy;
	link->wishes.has_keys = keys != NULL;
	if (keys)
		link->wishes.keys = *keys;
	pthread_mutex_unlock(&link->lock);
	wake(link);
	return 0;
}

bool profile_link_place(struct profile_link *link, char place[static PROFILE_LINK_PLACE_MAX])
{
	pthread_mutex_lock(&link->lock);
	bool welcomed = link->welcomed;
	memcpy(place, link->place, PROFILE_LINK_PLACE_MAX);
	pthread_mutex_unlock(&link->lock);
	return welcomed;
}

uint64_t profile_link_lost_ns(const struct profile_link *link)
{
	return atomic_load(&link->lost_ns);
}

void profile_link_ranks_ended(struct profile_link *link, uint64_t ended_ns)
{
	pthread_mutex_lock(&link->lock);
	link->wishes.ended_ns = ended_ns;
	pthread_mutex_unlock(&link->lock);
	wake(link);
}

void profile_link_finish(struct profile_link *link, bool is_complete, uint32_t give_up_ms)
{
	pthread_mutex_lock(&link->lock);
	link->wishes.finish = true;
	link->wishes.is_complete = is_complete;
	link->wishes.give_up_ms = give_up_ms;
	pthread_mutex_unlock(&link->lock);
	wake(link);
}

int profile_link_create(const struct profile_link_options *options, struct profile_link **link)
{
	struct profile_link *made = calloc(1, sizeof(*made));

	*link = NULL;
	if (!made)
		return -ENOMEM;
	made->options = *options;
	made->again_ms = AGAIN_MIN_MS;
	pthread_mutex_init(&made->lock, NULL);
	made->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = made->wake_fd < 0 ? -errno : 0;
	if (r == 0 && !(made->sender = page_sender_create()))
		r = -ENOMEM;
	if (r)
		profile_link_destroy(made);
	else
		*link = made;
	return r;
}

void profile_link_destroy(struct profile_link *link)
{
	if (!link)
		return;
	publisher_destroy(link->publisher);
	page_sender_destroy(link->sender);
	if (link->wake_fd >= 0)
		close(link->wake_fd);
	pthread_mutex_destroy(&link->lock);
	free(link->wishes.endpoint);
	free(link->endpoint);
	free(link);
}
