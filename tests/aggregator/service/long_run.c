#include "long_run.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "long_run_words.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/clock_log.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/message_log.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/service/open_profile.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "proto/batch/message_seq.h"

#define NS_PER_MS   1000000ull
#define NS_PER_S    1000000000ull
#define BEGIN_NS    (5000 * NS_PER_S) /* CLOCK_MONOTONIC of both hosts at the job's begin */
#define CLOCK_EVERY (30 * NS_PER_S)   /* as agents do by default */

struct long_run {
	struct long_run_options options;
	struct open_profile profile;
	struct agent_session *session; /* the profile's */
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
	struct long_run_words words;
	uint64_t seq, now_ns, clock_ns;
};

/* Says a message, as if it came over a socket. 0 or -errno. */
static int say(struct long_run *run, struct message *message)
{
	struct collection *collection = run->profile.collection;
	struct message received;
	const char *reason = "";
	const uint8_t *frame;
	size_t size;

	message_seq_set(message, ++run->seq);
	int error = batch_encode(run->encoder, message, &frame, &size);
	if (!error)
		error = batch_decode(run->decoder, frame, size, &received);
	if (!error)
		error = session_apply(run->session, collection, &received, &reason);
	if (error > 0)
		fprintf(stderr, "message %d: %s\n", (int)message->type, reason);
	if (!error)
		error = message_log_add(collection->messages, run->session, frame, size);
	run->profile.schedule.changed = true;
	run->profile.schedule.bytes += size;
	return error > 0 ? -EPROTO : error;
}

static int say_each(void *context, struct message *message)
{
	return say(context, message);
}

/* The hosts' clocks drift apart by a millionth. */
static int compare_clocks(struct long_run *run)
{
	const uint64_t passed_ns = run->now_ns - BEGIN_NS;
	const struct clock_offset offset = {
		.host = run->session->host,
		.reference = run->words.reference,
		.time_ns = run->now_ns,
		.offset_ns = (int64_t)(passed_ns / 1000000),
		.bound_ns = 20000 + passed_ns / CLOCK_EVERY * 7919 % 10000,
		.round_trip_ns = 40000,
		.realtime_offset_ns = LONG_RUN_REALTIME_NS,
		.reference_realtime_offset_ns = LONG_RUN_REALTIME_NS,
	};

	return clock_log_add(run->profile.collection->clocks, &offset);
}

static int commit(struct long_run *run)
{
	return open_profile_commit(&run->profile, run->now_ns);
}

static int begin(struct long_run *run)
{
	static const uint8_t epoch[WIRE_EPOCH_SIZE] = "a long run";
	struct collection *collection = run->profile.collection;
	struct message hello;

	run->session = collection_session(collection, epoch);
	if (!run->session)
		return -ENOMEM;
	long_run_words_hello(&hello);
	int error = agent_session_hello(run->session, collection->catalog, collection->roster,
					&hello.hello);
	if (!error)
		error = long_run_words_define(&run->words, collection->catalog, say_each, run);
	return error ? error : commit(run);
}

int long_run_create(const struct long_run_options *options, struct long_run **run)
{
	struct long_run *self = calloc(1, sizeof(*self));
	const struct open_profile_options profile = {.store_path = options->store_path,
						     .title = "a long run",
						     .nr_nodes = 1,
						     .raw_samples = options->raw_samples,
						     .bytes_max = options->bytes_max,
						     .timeline = options->timeline};
	int error = -ENOMEM;

	*run = NULL;
	if (!self)
		return error;
	self->options = *options;
	self->now_ns = self->clock_ns = BEGIN_NS;
	self->encoder = batch_encoder_create();
	self->decoder = batch_decoder_create();
	if (self->encoder && self->decoder)
		error = open_profile_open(&self->profile, &profile, NULL);
	if (!error)
		error = long_run_words_init(&self->words, options, BEGIN_NS);
	if (!error)
		error = begin(self);
	if (error) {
		long_run_destroy(self);
		return error;
	}
	*run = self;
	return 0;
}

void long_run_destroy(struct long_run *run)
{
	if (!run)
		return;
	open_profile_close(&run->profile);
	long_run_words_fini(&run->words);
	batch_encoder_destroy(run->encoder);
	batch_decoder_destroy(run->decoder);
	free(run);
}

int long_run_until(struct long_run *run, uint64_t until_s)
{
	int error = 0;

	while (!error && run->now_ns < BEGIN_NS + until_s * NS_PER_S) {
		run->now_ns += run->options.tick_ms * NS_PER_MS;
		error = long_run_words_say(&run->words, run->now_ns, say_each, run);
		for (; !error && run->clock_ns <= run->now_ns; run->clock_ns += CLOCK_EVERY)
			error = compare_clocks(run);
		if (!error)
			error = commit(run);
	}
	return error;
}

int long_run_end(struct long_run *run)
{
	int error = long_run_words_end(&run->words, say_each, run);

	run->profile.schedule.whole = true;
	return error ? error : commit(run);
}

/* ---- what it takes */

static int measure_files(const char *path, struct long_run_sizes *sizes)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	struct stat status;

	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(directory)) != NULL)
		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(directory), entry->d_name, &status, 0) == 0) {
			sizes->log_bytes += (uint64_t)status.st_size;
			sizes->nr_log_files++;
		}
	closedir(directory);
	return 0;
}

static uint64_t size_of(const char *path, const char *suffix)
{
	char name[PATH_MAX];
	struct stat status;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return stat(name, &status) ? 0 : (uint64_t)status.st_size;
}

int long_run_sizes(const struct long_run *run, struct long_run_sizes *sizes)
{
	const struct mallinfo2 heap = mallinfo2();
	unsigned long pages, resident = 0;
	char path[PATH_MAX];
	FILE *statm = fopen("/proc/self/statm", "re");

	*sizes = (struct long_run_sizes){.heap_bytes = heap.uordblks + heap.hblkhd,
					 .cache_bytes = (uint64_t)sqlite3_memory_used()};
	if (!statm)
		return -errno;
	const int nr = fscanf(statm, "%lu %lu", &pages, &resident);
	fclose(statm);
	sizes->rss_bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
	sizes->store_bytes = size_of(run->options.store_path, "");
	sizes->store_log_bytes = size_of(run->options.store_path, "-wal");
	snprintf(path, sizeof(path), "%s.timeline", run->options.store_path);
	return nr == 2 ? measure_files(path, sizes) : -EIO;
}

struct long_run_truth long_run_truth(const struct long_run *run)
{
	struct long_run_truth truth = run->words.truth;

	truth.now_ns = run->now_ns;
	return truth;
}
