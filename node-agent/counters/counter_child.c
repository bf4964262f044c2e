#include "counter_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "counter_word.h"
#include "pm_session.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/process_cost.h"
#include "node-agent/base/capability_set.h"

#define NS_PER_MS 1000000u

/* An image of samples is decoded for each GPU in a round, and a few if there are more. So decoding keeps a bounded
 * pace, and a process that cannot follow loses samples, which CUPTI tells. */
#define ROUND_NS    100000000u
#define IDLE_NS     1000000000u /* the same while no GPU is sampled */
#define ROUND_MORE  4u
#define EMPTY_MOST  5u /* overflows in turn, without a sample between them: it does not work */
#define WORDS       256u
#define INTERVAL_AT 2 /* in argv */

struct device {
	struct pm_session *session; /* owns; NULL: not sampled */
	uint32_t nr_empty;          /* overflows since the newest sample */
};

struct child {
	struct pm_library library;
	uint64_t interval_ns;
	bool is_open;     /* the library was tried */
	uint32_t refusal; /* of the library as a whole: enum counter_refusal */
	bool is_over;     /* nobody reads the words */
	struct device devices[COUNTER_WORD_DEVICES];
	uint32_t device; /* that is decoded */
	struct counter_word words[WORDS];
	uint32_t nr_words;
};

bool counter_child_is_asked(int argc, char **argv)
{
	return argc == INTERVAL_AT + 1 && strcmp(argv[1], COUNTER_WORD_ARGUMENT) == 0;
}

/* ---- words */

static void flush(struct child *child)
{
	const char *at = (const char *)child->words;
	size_t left = child->nr_words * sizeof(*child->words);

	child->nr_words = 0;
	while (left && !child->is_over) {
		const ssize_t size = write(COUNTER_WORD_FD, at, left);

		if (size < 0 && errno == EINTR)
			continue;
		child->is_over = size <= 0;
		at += size > 0 ? size : 0;
		left -= size > 0 ? (size_t)size : 0;
	}
}

static struct counter_word *add_word(struct child *child, enum counter_word_kind kind,
				     uint32_t device)
{
	if (child->nr_words == WORDS)
		flush(child);
	struct counter_word *word = &child->words[child->nr_words++];
	*word = (struct counter_word){.magic = COUNTER_WORD_MAGIC, .kind = kind, .device = device};
	return word;
}

/* Says which call of CUPTI failed last, which a refusal does not tell. */
static void say_failure(const struct child *child)
{
	const char *failure = pm_library_failure(&child->library);

	log_warning("counters of GPUs cannot be sampled: %s",
		    *failure ? failure : "each try ends with a full buffer and no sample");
}

static void tell(struct child *child, enum counter_word_kind kind, uint32_t device, uint64_t number)
{
	add_word(child, kind, device)->number = number;
}

static void take_sample(void *context, const struct counter_sample *sample, uint32_t invalid)
{
	struct child *child = context;
	struct counter_word *word = add_word(child, COUNTER_WORD_SAMPLE, child->device);

	word->sample = *sample;
	word->invalid = invalid;
	child->devices[child->device].nr_empty = 0;
}

/* ---- orders */

static uint32_t open_device(struct child *child, const struct counter_order *order)
{
	size_t number = 0;

	if (!child->is_open)
		child->refusal = pm_library_open(&child->library);
	child->is_open = true;
	if (child->refusal)
		return child->refusal;
	const uint32_t refusal = pm_library_find(&child->library, order->pci_domain, order->pci_bus,
						 order->pci_device, &number);
	return refusal ? refusal
		       : pm_session_open(&child->library, number, child->interval_ns,
					 &child->devices[order->device].session);
}

static void answer(struct child *child, uint32_t device, uint32_t refusal)
{
	if (refusal == COUNTER_FAILED)
		say_failure(child);
	tell(child, COUNTER_WORD_REFUSAL, device, refusal);
}

static void obey(struct child *child, const struct counter_order *order)
{
	if (order->device >= COUNTER_WORD_DEVICES)
		return;
	struct device *device = &child->devices[order->device];
	pm_session_close(device->session);
	*device = (struct device){0};
	if (order->is_used)
		answer(child, order->device, open_device(child, order));
}

/* Returns whether there may be further orders. An order is written and read at once. */
static bool read_order(struct child *child)
{
	struct counter_order order;
	const ssize_t size = read(STDIN_FILENO, &order, sizeof(order));

	if (size < 0 && errno == EINTR)
		return true;
	if (size != sizeof(order))
		return false;
	obey(child, &order);
	flush(child);
	return true;
}

/* ---- samples */

static void refuse(struct child *child, uint32_t refusal)
{
	struct device *device = &child->devices[child->device];

	pm_session_close(device->session);
	device->session = NULL;
	answer(child, child->device, refusal);
}

static void restart(struct child *child)
{
	struct device *device = &child->devices[child->device];
	uint32_t refusal = COUNTER_FAILED;

	tell(child, COUNTER_WORD_OVERFLOW, child->device, 1);
	if (device->nr_empty++ < EMPTY_MOST)
		refusal = pm_session_restart(device->session);
	if (refusal)
		refuse(child, refusal);
}

static void decode(struct child *child)
{
	struct device *device = &child->devices[child->device];
	enum pm_round round = PM_ROUND_MORE;
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < ROUND_MORE && round == PM_ROUND_MORE; i++)
		round = pm_session_decode(device->session, take_sample, child, &dropped);
	if (dropped)
		tell(child, COUNTER_WORD_DROPPED, child->device, dropped);
	if (round == PM_ROUND_FULL)
		restart(child);
	else if (round == PM_ROUND_ERROR)
		refuse(child, COUNTER_FAILED);
}

/* Returns the time until the next round. */
static uint64_t play_round(struct child *child)
{
	struct process_cost cost;
	uint64_t wait_ns = IDLE_NS;

	for (child->device = 0; child->device < COUNTER_WORD_DEVICES; child->device++) {
		if (!child->devices[child->device].session)
			continue;
		wait_ns = ROUND_NS;
		decode(child);
	}
	process_cost_read(&cost);
	struct counter_word *word = add_word(child, COUNTER_WORD_ROUND, 0);
	word->number = cost.cpu_ns;
	word->size = cost.peak_bytes;
	flush(child);
	return wait_ns;
}

/* CUPTI needs one of these two, where the driver lets only administrators profile. */
static void give_rights_up(void)
{
	struct capability_set rights;

	capability_set_choose(CAPABILITY_ROLE_COUNTERS, &rights);
	capability_set_keep(&rights);
}

/* What the agent's own environment has for programs that are profiled is not for this one: CUDA would load the library
 * of injection here, and hide GPUs. */
static void clear_environment(void)
{
	unsetenv("CUDA_INJECTION64_PATH");
	unsetenv("NVTX_INJECTION64_PATH");
	unsetenv("CUDA_VISIBLE_DEVICES");
}

int counter_child_run(char **argv)
{
	struct child *child = calloc(1, sizeof(*child));
	uint64_t next_ns = clock_now_ns();

	if (!child)
		return EXIT_FAILURE;
	give_rights_up();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "counters");
	signal(SIGPIPE, SIG_IGN);
	fcntl(COUNTER_WORD_FD, F_SETFD, FD_CLOEXEC);
	clear_environment();
	child->interval_ns = strtoull(argv[INTERVAL_AT], NULL, 10);
	for (bool goes_on = child->interval_ns > 0; goes_on && !child->is_over;) {
		struct pollfd orders = {.fd = STDIN_FILENO, .events = POLLIN};
		const uint64_t now_ns = clock_now_ns();
		const uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;

		if (poll(&orders, 1, (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS)) > 0) {
			goes_on = read_order(child);
			next_ns = 0;
		}
		if (clock_now_ns() < next_ns)
			continue;
		const uint64_t next_wait_ns = play_round(child);
		next_ns = clock_now_ns() + next_wait_ns;
	}
	for (uint32_t i = 0; i < COUNTER_WORD_DEVICES; i++)
		pm_session_close(child->devices[i].session);
	free(child);
	return EXIT_SUCCESS;
}
