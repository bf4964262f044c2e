#include "foreign_call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "node-agent/base/fair_shares.h"
#include "node-agent/base/trusted_user.h"

#define PATH_SHOWN 200
#define NS_PER_S   1000000000ll
#define NS_PER_MS  1000000ll

struct hand {
	struct hand *next;
	pthread_cond_t wake, done;
	struct foreign_call *call; /* NULL: the hand waits for a call */
	pid_t tid;                 /* 0: the thread has not begun yet */
	clockid_t clock;           /* the hand's time on a CPU */
	uid_t user;                /* user, device, path: of the call that was left behind */
	uint64_t device;
	char path[PATH_SHOWN];
	bool has_run, is_left, is_said;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hand *idle, *left; /* own; idle has as many hands as calls were made at once */
static uint32_t nr_left;

/* ---- the hand ---------------------------------------------------------------------------------- */

static void destroy(struct hand *hand)
{
	pthread_cond_destroy(&hand->wake);
	pthread_cond_destroy(&hand->done);
	free(hand);
}

static void unlist(struct hand **list, const struct hand *hand)
{
	while (*list != hand)
		list = &(*list)->next;
	*list = hand->next;
}

/* Needs the lock, and gives it back. The caller may free the call once it can know that the call has returned. */
static void come_back(struct hand *hand, struct foreign_call *call)
{
	unlist(&left, hand);
	nr_left--;
	pthread_mutex_unlock(&lock);
	call->returned(call);
	destroy(hand);
}

static void *work(void *argument)
{
	struct hand *hand = argument;

	pthread_setname_np(pthread_self(), "foreign-files");
	pthread_mutex_lock(&lock);
	hand->tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		while (!hand->call)
			pthread_cond_wait(&hand->wake, &lock);
		struct foreign_call *call = hand->call;

		pthread_mutex_unlock(&lock);
		call->run(call);
		pthread_mutex_lock(&lock);
		hand->call = NULL;
		if (hand->is_left) {
			come_back(hand, call);
			return NULL;
		}
		hand->has_run = true;
		pthread_cond_signal(&hand->done);
	}
}

/* ---- the caller -------------------------------------------------------------------------------- */

static struct hand *create(void)
{
	struct hand *hand = calloc(1, sizeof(*hand));
	pthread_condattr_t monotonic;
	pthread_attr_t attributes;
	pthread_t thread;

	if (!hand)
		return NULL;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&hand->wake, NULL);
	pthread_cond_init(&hand->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int r = pthread_create(&thread, &attributes, work, hand);
	pthread_attr_destroy(&attributes);
	if (r) {
		destroy(hand);
		return NULL;
	}
	/* The hand waits for its first call, so its thread exists. */
	pthread_getcpuclockid(thread, &hand->clock);
	return hand;
}

/* Needs the lock. */
static struct hand *take_hand(void)
{
	struct hand *hand = idle;

	if (!hand)
		return create();
	idle = hand->next;
	return hand;
}

/* Returns whether the user's file system hangs, or the user may leave no further hand behind. Calls that were made at
 * once may have left more hands behind than the limit allows. Needs the lock. */
static bool hangs(const struct foreign_call *call)
{
	const bool is_trusted = trusted_user(call->user);
	uint32_t held = 0, total = 0;

	for (const struct hand *hand = left; hand; hand = hand->next) {
		total += trusted_user(hand->user) == is_trusted;
		if (hand->user != call->user)
			continue;
		if (call->device && hand->device == call->device)
			return true;
		held++;
	}
	return total >= FOREIGN_CALLS_LEFT_MAX ||
	       !fair_shares_admit(call->user, held, FOREIGN_CALLS_LEFT_MAX - total);
}

static int64_t cpu_time_ns(const struct hand *hand)
{
	struct timespec time;

	return clock_gettime(hand->clock, &time) ? -1 : time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* A hand that waits for a CPU does not wait for a file system. */
static bool is_asleep(pid_t tid)
{
	char path[64], text[256];
	ssize_t size = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	int fd = tid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		size = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (size <= 0)
		return false;
	text[size] = '\0';
	const char *bracket = strrchr(text, ')');
	return bracket && (bracket[2] == 'S' || bracket[2] == 'D');
}

static void wait_a_moment(struct hand *hand)
{
	const struct timespec until = clock_in(CLOCK_MONOTONIC, FOREIGN_CALL_LOOK_MS * NS_PER_MS);

	pthread_cond_timedwait(&hand->done, &lock, &until);
}

/* Returns false if the hand is to be left behind. The function counts looks, not time, because the whole process may
 * have been stopped. Needs the lock. */
static bool wait_for(struct hand *hand, const struct foreign_patience *patience)
{
	int64_t before_ns = -1;
	uint32_t slept_ms = 0, all_ms = 0; /* since the hand last ran; in all */

	while (!hand->has_run) {
		wait_a_moment(hand);
		if (hand->has_run)
			break;
		const pid_t tid = hand->tid;

		pthread_mutex_unlock(&lock);
		int64_t now_ns = cpu_time_ns(hand);
		bool asleep = is_asleep(tid);
		bool goes_on = !patience->go_on || patience->go_on(patience->context, asleep);
		pthread_mutex_lock(&lock);
		slept_ms = asleep && now_ns == before_ns ? slept_ms + FOREIGN_CALL_LOOK_MS : 0;
		all_ms += asleep ? FOREIGN_CALL_LOOK_MS : 0;
		before_ns = now_ns;
		uint32_t part = goes_on ? 1 : 4;
		bool is_over = (slept_ms >= patience->limit_ms / part && slept_ms > 0) ||
			       (patience->all_ms && all_ms >= patience->all_ms / part);
		if (!hand->has_run && is_over)
			return false;
	}
	return true;
}

/* Needs the lock. */
static void leave(struct hand *hand, const struct foreign_call *call)
{
	hand->is_left = true;
	hand->user = call->user;
	hand->device = call->device;
	snprintf(hand->path, sizeof(hand->path), "%s", call->path ? call->path : "");
	for (char *c = hand->path; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	hand->next = left;
	left = hand;
	nr_left++;
}

/* Needs the lock. */
static void keep(struct hand *hand)
{
	hand->has_run = false;
	hand->next = idle;
	idle = hand;
}

int foreign_call_make(struct foreign_call *call, const struct foreign_patience *patience)
{
	struct hand *hand = NULL;
	int r = -EHOSTDOWN;

	pthread_mutex_lock(&lock);
	if (!hangs(call)) {
		hand = take_hand();
		r = hand ? 0 : -EAGAIN;
	}
	if (hand) {
		hand->call = call;
		pthread_cond_signal(&hand->wake);
		if (wait_for(hand, patience)) {
			keep(hand);
		} else {
			leave(hand, call);
			r = -ETIMEDOUT;
		}
	}
	pthread_mutex_unlock(&lock);
	return r;
}

uint32_t foreign_calls_left(void)
{
	pthread_mutex_lock(&lock);
	uint32_t nr = nr_left;
	pthread_mutex_unlock(&lock);
	return nr;
}

bool foreign_calls_take_line(char line[static FOREIGN_CALL_LINE_MAX])
{
	struct hand *hand;

	pthread_mutex_lock(&lock);
	for (hand = left; hand && hand->is_said; hand = hand->next)
		;
	if (hand) {
		hand->is_said = true;
		snprintf(line, FOREIGN_CALL_LINE_MAX,
			 "%s: its file system does not answer; files there have no names until it "
			 "does",
			 *hand->path ? hand->path : "a file of a process");
	}
	pthread_mutex_unlock(&lock);
	return hand;
}
