#include "counter_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter_queue.h"
#include "counter_word.h"

#include "base/clock.h"
#include "base/log.h"
#include "node-agent/base/reader_life.h"

#define NS_PER_S 1000000000u
#define LOOK_MS  200 /* from one look whether the process hangs to the next */
#define WORDS    256u

extern char **environ;

struct device {
	uint32_t pci_domain, pci_bus, pci_device;
	uint32_t nr_users;
	uint64_t since_ns; /* CLOCK_MONOTONIC: it has users */
	struct counter_queue queue;
	struct counter_sums told; /* what counter_reader_fill() has told, of so many samples */
	uint64_t told_samples;
};

/* Shared with the thread; the last to leave frees it. */
struct counter_reader {
	char *program; /* owns */
	uint64_t interval_ns, hang_ns;
	struct reader_life life; /* its lock guards all that follows */
	struct device devices[COUNTER_WORD_DEVICES];
	uint32_t count;    /* devices that were ever used */
	uint32_t nr_used;  /* devices with users */
	uint32_t refusal;  /* of all of them, for good: enum counter_refusal */
	pid_t pid;         /* of the process; 0: it was not started, or is reaped */
	int orders, words; /* a socket to it, and a pipe from it; -1: none */
	uint64_t heard_ns; /* when it said something last, or a GPU was first used */
	struct process_cost cost;
};

static void destroy(struct counter_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++)
		counter_queue_fini(&reader->devices[i].queue);
	reader_life_fini(&reader->life);
	free(reader->program);
	free(reader);
}

/* ---- the thread. All but end_process() and run() hold the lock. */

/* A GPU that was refused before keeps its reason. */
static void refuse_all(struct counter_reader *reader, uint32_t refusal)
{
	reader->refusal = refusal;
	for (uint32_t i = 0; i < reader->count; i++)
		if (reader->devices[i].queue.sums.refusal == COUNTER_SAMPLED)
			counter_queue_refuse(&reader->devices[i].queue, refusal,
					     clock_realtime_ns());
}

/* The word is valid. */
static void take_word(struct counter_reader *reader, const struct counter_word *word)
{
	struct device *device =
		word->device < reader->count ? &reader->devices[word->device] : NULL;

	reader->heard_ns = clock_now_ns();
	if (word->kind == COUNTER_WORD_ROUND)
		reader->cost = (struct process_cost){word->number, word->size};
	if (!device || device->nr_users == 0)
		return;
	switch (word->kind) {
	case COUNTER_WORD_SAMPLE:
		counter_queue_add(&device->queue, &word->sample, word->invalid,
				  clock_realtime_ns());
		break;
	case COUNTER_WORD_REFUSAL:
		counter_queue_refuse(&device->queue, (uint32_t)word->number, clock_realtime_ns());
		break;
	case COUNTER_WORD_DROPPED:
		counter_queue_drop(&device->queue, word->number);
		break;
	case COUNTER_WORD_OVERFLOW:
		counter_queue_overflow(&device->queue);
		break;
	default:
		break;
	}
}

/* Takes words until one cannot be: nothing that follows it is trusted. Returns their number. */
static size_t take_words(struct counter_reader *reader, const struct counter_word *words,
			 size_t count)
{
	size_t i = 0;

	for (; i < count && counter_word_is_valid(&words[i]); i++)
		take_word(reader, &words[i]);
	return i;
}

/* Waits without the lock, because a process that the driver holds may not end. Does not reap it, so that no other
 * process gets its pid. */
static void end_process(pid_t pid)
{
	siginfo_t end;

	kill(pid, SIGKILL);
	while (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
	}
}

/* The process has ended. The lock, if there is a thread, keeps its pid from being killed in between. */
static void reap_process(struct counter_reader *reader)
{
	waitpid(reader->pid, NULL, 0);
	reader->pid = 0;
}

/* Reads whole words as they come. Returns 0 at the end of the process's output. */
static size_t read_words(int fd, struct counter_word *words, size_t *size)
{
	const ssize_t got = read(fd, (char *)words + *size, WORDS * sizeof(*words) - *size);

	if (got < 0 && errno == EINTR)
		return 1;
	*size += got > 0 ? (size_t)got : 0;
	return got > 0;
}

/* Returns whether the process goes on. */
static bool listen_once(struct counter_reader *reader, int fd, struct counter_word *words,
			size_t *size)
{
	struct pollfd input = {.fd = fd, .events = POLLIN};
	const bool has_input = poll(&input, 1, LOOK_MS) > 0;
	const bool goes_on = !has_input || read_words(fd, words, size) > 0;
	const size_t whole = *size / sizeof(*words);

	pthread_mutex_lock(&reader->life.lock);
	const bool is_sane = take_words(reader, words, whole) == whole;
	*size -= whole * sizeof(*words);
	memmove(words, &words[whole], *size);
	const bool hangs =
		reader->nr_used > 0 && clock_now_ns() - reader->heard_ns > reader->hang_ns;
	if (!is_sane)
		log_warning("the process that samples counters of GPUs says the impossible: it is "
			    "ended");
	if (!is_sane)
		refuse_all(reader, COUNTER_FAILED);
	else if ((!goes_on || hangs) && !reader->life.is_stopped)
		refuse_all(reader, goes_on ? COUNTER_HANGS : COUNTER_DIED);
	pthread_mutex_unlock(&reader->life.lock);
	return is_sane && goes_on && !hangs;
}

static void *run(void *argument)
{
	struct counter_reader *reader = argument;
	struct counter_word *words = calloc(WORDS, sizeof(*words));
	size_t size = 0;

	pthread_mutex_lock(&reader->life.lock);
	const int fd = reader->words;
	const pid_t pid = reader->pid;
	if (!words)
		refuse_all(reader, COUNTER_FAILED);
	pthread_mutex_unlock(&reader->life.lock);
	while (words && listen_once(reader, fd, words, &size)) {
	}
	free(words);
	end_process(pid);
	close(fd);
	pthread_mutex_lock(&reader->life.lock);
	reap_process(reader);
	reader->words = -1;
	if (reader_life_end(&reader->life))
		destroy(reader);
	return NULL;
}

/* ---- the loop */

/* A group of its own keeps a Ctrl-C from it. */
static int start_program(const struct counter_reader *reader, int input, int output, pid_t *pid)
{
	char interval[24];
	char *const argv[] = {reader->program, (char *)COUNTER_WORD_ARGUMENT, interval, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;

	snprintf(interval, sizeof(interval), "%" PRIu64, reader->interval_ns);
	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions))
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	int r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, output, COUNTER_WORD_FD);
	/* Libraries print where they like. */
	if (!r && fcntl(STDERR_FILENO, F_GETFD) >= 0)
		r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!r)
		r = posix_spawn(pid, reader->program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static void start_process(struct counter_reader *reader)
{
	int orders[2] = {-1, -1}, words[2] = {-1, -1};
	pid_t pid = 0;
	/* A socket gives an error, and no signal, when the process has ended. */
	const bool has_started = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders) == 0 &&
				 pipe2(words, O_CLOEXEC) == 0 &&
				 start_program(reader, orders[0], words[1], &pid) == 0;

	close(orders[0]);
	close(words[1]);
	if (has_started) {
		reader->orders = orders[1];
		reader->words = words[0];
		reader->pid = pid;
		return;
	}
	close(orders[1]);
	close(words[0]);
	reader->refusal = COUNTER_FAILED;
}

/* The caller holds the lock. */
static void listen_to_it(struct counter_reader *reader)
{
	if (!reader->refusal && !reader_life_start(&reader->life, run, reader))
		refuse_all(reader, COUNTER_FAILED);
}

struct counter_reader *counter_reader_create(const struct counter_reader_options *options)
{
	struct counter_reader *reader = calloc(1, sizeof(*reader));
	char *program = strdup(options->program);

	if (!reader || !program) {
		free(reader);
		free(program);
		return NULL;
	}
	reader->program = program;
	reader->interval_ns = options->interval_ns;
	reader->hang_ns = options->hang_ns;
	reader->orders = reader->words = -1;
	reader_life_init(&reader->life);
	start_process(reader);
	return reader;
}

/* Frees the reader, without a thread. A process to which no thread has listened has loaded nothing, and ends at
 * once. */
static void leave(struct counter_reader *reader)
{
	if (reader->pid > 0) {
		end_process(reader->pid);
		reap_process(reader);
		close(reader->words);
	}
	destroy(reader);
}

void counter_reader_destroy(struct counter_reader *reader, uint32_t wait_ms)
{
	if (!reader)
		return;
	/* The process ends when its input does. One that does not is killed, and the thread then sees its end. */
	pthread_mutex_lock(&reader->life.lock);
	reader->life.is_stopped = true;
	if (reader->orders >= 0)
		close(reader->orders);
	reader->orders = -1;
	pthread_mutex_unlock(&reader->life.lock);
	if (reader_life_wait(&reader->life, wait_ms / 2)) {
		leave(reader);
		return;
	}
	pthread_mutex_lock(&reader->life.lock);
	if (reader->pid > 0)
		kill(reader->pid, SIGKILL);
	pthread_mutex_unlock(&reader->life.lock);
	if (reader_life_stop(&reader->life, wait_ms / 2))
		leave(reader);
}

/* The caller holds the lock. */
static void order(struct counter_reader *reader, int i, bool is_used)
{
	const struct device *device = &reader->devices[i];
	const struct counter_order order = {.is_used = is_used,
					    .device = (uint32_t)i,
					    .pci_domain = device->pci_domain,
					    .pci_bus = device->pci_bus,
					    .pci_device = device->pci_device};

	if (reader->refusal || reader->orders < 0)
		return;
	/* A process that takes none of thousands of orders does not stop the loop. */
	const ssize_t size =
		send(reader->orders, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (size != sizeof(order) && is_used)
		counter_queue_refuse(&reader->devices[i].queue,
				     errno == EPIPE ? COUNTER_DIED : COUNTER_FAILED,
				     clock_realtime_ns());
}

/* Returns the device, or reader->count; the caller holds the lock. */
static uint32_t look_up(const struct counter_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
			uint32_t pci_device)
{
	uint32_t i = 0;

	while (i < reader->count && (reader->devices[i].pci_domain != pci_domain ||
				     reader->devices[i].pci_bus != pci_bus ||
				     reader->devices[i].pci_device != pci_device))
		i++;
	return i;
}

/* Finds or adds the device; the caller holds the lock. */
static int find_device(struct counter_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
		       uint32_t pci_device)
{
	const uint32_t i = look_up(reader, pci_domain, pci_bus, pci_device);

	if (i < reader->count)
		return (int)i;
	if (i == COUNTER_WORD_DEVICES)
		return -1;
	reader->devices[i] = (struct device){
		.pci_domain = pci_domain, .pci_bus = pci_bus, .pci_device = pci_device};
	if (counter_queue_init(&reader->devices[i].queue, clock_realtime_ns(), reader->interval_ns))
		return -1;
	if (reader->refusal)
		counter_queue_refuse(&reader->devices[i].queue, reader->refusal,
				     clock_realtime_ns());
	reader->count++;
	return (int)i;
}

int counter_reader_use(struct counter_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
		       uint32_t pci_device)
{
	pthread_mutex_lock(&reader->life.lock);
	const int i = find_device(reader, pci_domain, pci_bus, pci_device);
	if (i >= 0 && reader->devices[i].nr_users++ == 0) {
		reader->devices[i].since_ns = clock_now_ns();
		if (reader->nr_used++ == 0)
			reader->heard_ns = clock_now_ns();
		listen_to_it(reader);
		order(reader, i, true);
	}
	pthread_mutex_unlock(&reader->life.lock);
	return i;
}

void counter_reader_leave(struct counter_reader *reader, int device)
{
	pthread_mutex_lock(&reader->life.lock);
	struct device *of = &reader->devices[device];

	if (--of->nr_users == 0) {
		of->queue.sums.asked_ns += clock_now_ns() - of->since_ns;
		reader->nr_used--;
		order(reader, device, false);
	}
	pthread_mutex_unlock(&reader->life.lock);
}

uint32_t counter_reader_take(struct counter_reader *reader, int device,
			     struct counter_sample *samples, uint32_t most)
{
	pthread_mutex_lock(&reader->life.lock);
	const uint32_t count = counter_queue_take(&reader->devices[device].queue, samples, most);
	pthread_mutex_unlock(&reader->life.lock);
	return count;
}

void counter_reader_find(struct counter_reader *reader, int device, struct counter_state *state)
{
	pthread_mutex_lock(&reader->life.lock);
	const struct device *of = &reader->devices[device];

	*state = of->queue.sums;
	if (of->nr_users)
		state->asked_ns += clock_now_ns() - of->since_ns;
	pthread_mutex_unlock(&reader->life.lock);
}

/* A part of a time, in units of whole. 0: nothing of it is known. */
static uint64_t part_of(uint64_t amount, uint64_t known_ns, uint64_t whole)
{
	return known_ns ? (uint64_t)((unsigned __int128)amount * whole / known_ns) : 0;
}

static void fill(const struct counter_sums *all, const struct counter_sums *told,
		 struct nvml_gpm_reading *reading)
{
	static const enum telemetry_use uses[COUNTER_USES] = {
		[COUNTER_SM] = TELEMETRY_SM,
		[COUNTER_OCCUPANCY] = TELEMETRY_OCCUPANCY,
		[COUNTER_TENSOR] = TELEMETRY_TENSOR,
		[COUNTER_DRAM] = TELEMETRY_DRAM,
	};
	const uint32_t bytes = COUNTER_USES + COUNTER_DRAM_BYTES;

	for (uint32_t i = 0; i < COUNTER_USES; i++) {
		const uint64_t ns = all->known_ns[i] - told->known_ns[i];

		reading->known_uses |= ns ? 1u << uses[i] : 0;
		reading->use[uses[i]] =
			(uint32_t)part_of(all->amounts[i] - told->amounts[i], ns, NVML_GPM_WHOLE);
	}
	const uint64_t ns = all->known_ns[bytes] - told->known_ns[bytes];
	reading->known_traffics |= ns ? 1u << TELEMETRY_DRAM_BYTES : 0;
	reading->bytes_per_second[TELEMETRY_DRAM_BYTES] =
		part_of(all->amounts[bytes] - told->amounts[bytes], ns, NS_PER_S);
}

void counter_reader_fill(void *reader, uint32_t pci_domain, uint32_t pci_bus, uint32_t pci_device,
			 struct nvml_gpm_reading *reading)
{
	struct counter_reader *of = reader;

	pthread_mutex_lock(&of->life.lock);
	const uint32_t i = look_up(of, pci_domain, pci_bus, pci_device);
	struct device *device = i < of->count ? &of->devices[i] : NULL;
	reading->has_sample = device && device->queue.sums.samples > device->told_samples;
	if (reading->has_sample) {
		/* The first ones have no begin. */
		if (device->told_samples)
			fill(&device->queue.all, &device->told, reading);
		device->told = device->queue.all;
		device->told_samples = device->queue.sums.samples;
	}
	pthread_mutex_unlock(&of->life.lock);
}

void counter_reader_cost(struct counter_reader *reader, struct process_cost *cost)
{
	*cost = (struct process_cost){0};
	if (!reader)
		return;
	pthread_mutex_lock(&reader->life.lock);
	*cost = reader->cost;
	pthread_mutex_unlock(&reader->life.lock);
}
