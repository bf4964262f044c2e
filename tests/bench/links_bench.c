/* What it costs the job's aggregator to take the profiles of many nodes: the links of all nodes, over ZeroMQ and CURVE,
 * each with the pages of one store, all of them in each round. Rounds are as far apart as those of a link that nobody
 * watches, and nodes have their turns one after the other. It prints the cost of the watched process in each phase.
 *	links_bench RENDEZVOUS NODES ROUNDS PID STORE [FIRST [FAN-IN [SECONDS]]]
 * The aggregator is that of `flamegrid run --aggregate node`; PID is its process (flamegrid-job). FIRST is the first node's
 * number, for several of these programs at a time: a node takes five descriptors. With FAN-IN nodes go to the aggregators
 * of their blocks, whose files are beside RENDEZVOUS. SECONDS: from one round to the next. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <zmq.h>

#include "swarm/watched_cost.h"

#include "aggregator/pages/page_reader.h"
#include "base/array.h"
#include "base/clock.h"
#include "cli/job/rendezvous_search.h"
#include "node-agent/publish/publisher.h"
#include "proto/trust/rendezvous.h"

#define ROUND_S        10 /* unless it is given */
#define DEADLINES_NS   50000000ull
#define EVENTS_MAX     256
#define HANDSHAKES_MAX 64u
#define SOCKETS        4 /* of ZeroMQ, for one publisher: its own, and those of its monitor */
#define PART_BYTES     (256u << 10) /* of a message */

/* A message of a round: pages from first on, and their bytes. */
struct chunk {
	uint32_t first, count, at, size;
};

struct pages {
	struct message_page_part *parts;
	uint32_t nr_parts, room_parts;
	uint8_t *bytes;
	uint32_t nr_bytes, room_bytes;
	struct message_page_table tables[PROFILE_TABLES_MAX];
	struct chunk *chunks;
	uint32_t nr_chunks;
};

struct link {
	struct publisher *publisher;
	uint64_t due_ns;
	uint32_t rounds; /* that were sent */
	bool was_connected;
};

struct bench {
	struct rendezvous rendezvous; /* of the aggregator of this block */
	const char *path;             /* of the job's */
	uint32_t fan_in, block;       /* fan_in 0: all nodes go to the job's aggregator */
	struct pages pages;
	struct link *links;
	uint32_t nr_links, first;
	int pid, epoll_fd;
	uint64_t deadlines_ns; /* of the next look at all deadlines */
	uint64_t round_ns;     /* from one round of a node to the next */
	void *context;
};

static void fail(const char *what, int error)
{
	fprintf(stderr, "links_bench: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

/* ---- the pages */

static int take_page(void *context, const struct profile_page *page)
{
	struct pages *pages = context;
	const struct message_page_part part = {.table = page->table,
					       .number = page->number,
					       .page_bytes = page->size,
					       .size = page->size};
	struct chunk *last = pages->nr_chunks ? &pages->chunks[pages->nr_chunks - 1] : NULL;

	if (!last || last->size + page->size > PART_BYTES) {
		const struct chunk chunk = {pages->nr_parts, 0, pages->nr_bytes, 0};

		if (array_append(&pages->chunks, &pages->nr_chunks, &chunk, sizeof(chunk)))
			return -ENOMEM;
		last = &pages->chunks[pages->nr_chunks - 1];
	}
	if (array_reserve(&pages->parts, &pages->room_parts, pages->nr_parts + 1ull,
			  sizeof(part)) ||
	    array_reserve(&pages->bytes, &pages->room_bytes, (uint64_t)pages->nr_bytes + page->size,
			  1))
		return -ENOMEM;
	pages->parts[pages->nr_parts++] = part;
	memcpy(pages->bytes + pages->nr_bytes, page->bytes, page->size);
	pages->nr_bytes += page->size;
	last->count++;
	last->size += page->size;
	pages->tables[page->table].nr_pages = page->number + 1;
	return 0;
}

static void read_pages(struct pages *pages, const char *path)
{
	struct database *database;
	int error = database_open(path, true, &database, NULL);

	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++)
		pages->tables[i].table = i;
	if (!error)
		error = database_execute(database, "BEGIN");
	if (!error)
		error = page_reader_read(database, take_page, pages);
	if (error)
		fail(path, error);
	database_execute(database, "COMMIT");
	database_close(database);
}

/* ---- the links */

static void send_message(struct link *link, struct message message)
{
	int error = publisher_send(link->publisher, &message);

	if (error)
		fail("a message", error);
}

static void send_round(struct bench *bench, uint32_t number)
{
	const struct pages *pages = &bench->pages;
	struct link *link = &bench->links[number];
	const uint32_t writer = bench->first + number + 1;

	link->rounds++;
	for (uint32_t i = 0; i < pages->nr_chunks; i++) {
		const struct chunk *chunk = &pages->chunks[i];
		const bool is_last = i == pages->nr_chunks - 1;
		struct message message = {
			.type = MESSAGE_PAGES,
			.pages = {.round = link->rounds,
				  .nr_parts = chunk->count,
				  .nr_bytes = chunk->size,
				  .parts = pages->parts + chunk->first,
				  .bytes = pages->bytes + chunk->at,
				  .nr_tables = is_last ? PROFILE_TABLES_MAX : 0,
				  .tables = pages->tables},
		};

		memcpy(message.pages.writer, &writer, sizeof(writer));
		send_message(link, message);
	}
}

/* Reads where the aggregator of this block is. */
static void read_rendezvous(struct bench *bench, uint32_t block)
{
	char path[PATH_MAX], number[16] = "", *text;

	if (block)
		snprintf(number, sizeof(number), "-%u", block);
	snprintf(path, sizeof(path), "%.*s%s" RENDEZVOUS_SUFFIX,
		 (int)(strlen(bench->path) - strlen(RENDEZVOUS_SUFFIX)), bench->path, number);
	if (rendezvous_read(path, &bench->rendezvous, &text))
		fail(text ? text : path, EINVAL);
	bench->block = block;
}

static void open_link(struct bench *bench, uint32_t number)
{
	const uint32_t node = bench->first + number;
	const uint32_t block = bench->fan_in ? node / bench->fan_in : 0;

	if (block != bench->block)
		read_rendezvous(bench, block);
	char name[32], boot_id[40], *text = NULL;
	struct publisher_options options = {
		.endpoint = bench->rendezvous.endpoints[0],
		.keys = &bench->rendezvous.keys,
		.zmq_context = bench->context,
		.hello = {.version_min = WIRE_VERSION_FOLDS,
			  .version_max = WIRE_VERSION_FOLDS,
			  .folds = true,
			  .software = {"links_bench", 11},
			  .node = {name, (uint32_t)snprintf(name, sizeof(name), "n%05u", node)},
			  .boot_id = {boot_id,
				      (uint32_t)snprintf(boot_id, sizeof(boot_id),
							 "%08x-0000-4000-8000-%012x", node, node)}},
	};
	const uint64_t epoch[2] = {clock_now_ns(), node};

	memcpy(options.hello.epoch, epoch, sizeof(epoch));
	int error = publisher_create(&options, &bench->links[number].publisher, &text);
	if (error)
		fail(text ? text : "a publisher", error);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
	if (epoll_ctl(bench->epoll_fd, EPOLL_CTL_ADD, publisher_fd(bench->links[number].publisher),
		      &event))
		fail("epoll", errno);
}

/* A link that has lost its connection sends again what was not acknowledged. */
static bool is_quiet(const struct link *link)
{
	return link->was_connected &&
	       publisher_acked_seq(link->publisher) == publisher_last_seq(link->publisher);
}

static void step(struct link *link)
{
	int error = publisher_step(link->publisher, clock_now_ns());

	if (error)
		fail(publisher_error(link->publisher), error);
	link->was_connected |= publisher_connected(link->publisher);
}

/* ---- the phases */

static void turn(struct bench *bench)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(bench->epoll_fd, events, EVENTS_MAX, 5);

	for (int i = 0; i < count; i++)
		step(&bench->links[events[i].data.u32]);
	const uint64_t now_ns = clock_now_ns();
	if (now_ns < bench->deadlines_ns)
		return;
	bench->deadlines_ns = now_ns + DEADLINES_NS;
	for (uint32_t i = 0; i < bench->nr_links; i++)
		if (bench->links[i].publisher &&
		    publisher_deadline_ns(bench->links[i].publisher) <= now_ns)
			step(&bench->links[i]);
}

static uint32_t count_quiet(const struct bench *bench)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bench->nr_links; i++)
		count += bench->links[i].publisher && is_quiet(&bench->links[i]);
	return count;
}

static void print(const char *phase, const struct bench *bench, uint64_t began_ns,
		  const struct watched_cost *before)
{
	struct watched_cost cost;

	if (watched_cost_read(bench->pid, &cost))
		fail("the watched process", ESRCH);
	printf("%s: %.1f s, %.2f s of CPU, %.0f MB resident, %.0f MB written\n", phase,
	       (double)(clock_now_ns() - began_ns) / 1e9,
	       (double)(cost.cpu_ns - before->cpu_ns) / 1e9, (double)cost.rss_bytes / 1e6,
	       (double)(cost.written_bytes - before->written_bytes) / 1e6);
	fflush(stdout);
}

/* Real nodes have a CPU each. Here too many handshakes at once would time out, and begin anew. */
static void connect_all(struct bench *bench)
{
	struct watched_cost before;
	uint64_t began_ns = clock_now_ns();
	uint32_t opened = 0, connected = 0;

	watched_cost_read(bench->pid, &before);
	while (connected < bench->nr_links) {
		while (opened < bench->nr_links && opened - connected < HANDSHAKES_MAX)
			open_link(bench, opened++);
		turn(bench);
		connected = count_quiet(bench);
	}
	print("connected", bench, began_ns, &before);
}

/* One round of each, spread over the time from one round to the next. */
static void send_all(struct bench *bench, const char *phase)
{
	struct watched_cost before;
	uint64_t began_ns = clock_now_ns(), late_ns = 0;
	uint32_t next = 0;

	watched_cost_read(bench->pid, &before);
	for (uint32_t i = 0; i < bench->nr_links; i++)
		bench->links[i].due_ns = began_ns + bench->round_ns * i / bench->nr_links;
	while (next < bench->nr_links || count_quiet(bench) < bench->nr_links) {
		while (next < bench->nr_links && bench->links[next].due_ns <= clock_now_ns()) {
			uint64_t now_ns = clock_now_ns();

			if (now_ns - bench->links[next].due_ns > late_ns)
				late_ns = now_ns - bench->links[next].due_ns;
			send_round(bench, next);
			step(&bench->links[next++]);
		}
		turn(bench);
	}
	print(phase, bench, began_ns, &before);
}

static void end_all(struct bench *bench)
{
	struct watched_cost before;
	uint64_t began_ns = clock_now_ns();

	watched_cost_read(bench->pid, &before);
	for (uint32_t i = 0; i < bench->nr_links; i++) {
		send_message(&bench->links[i], (struct message){.type = MESSAGE_BYE});
		step(&bench->links[i]);
	}
	while (count_quiet(bench) < bench->nr_links)
		turn(bench);
	print("ended", bench, began_ns, &before);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct rlimit limit;

	if (argc < 6 || argc > 9 || strlen(argv[1]) < strlen(RENDEZVOUS_SUFFIX)) {
		fputs("usage: links_bench RENDEZVOUS NODES ROUNDS PID STORE [FIRST [FAN-IN "
		      "[SECONDS]]]\n",
		      stderr);
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	bench.path = argv[1];
	bench.fan_in = argc > 7 ? (uint32_t)strtoul(argv[7], NULL, 10) : 0;
	bench.round_ns = (argc > 8 ? strtoull(argv[8], NULL, 10) : ROUND_S) * 1000000000ull;
	read_rendezvous(&bench, 0);
	bench.nr_links = (uint32_t)strtoul(argv[2], NULL, 10);
	bench.pid = atoi(argv[4]);
	bench.first = argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 10) : 0;
	bench.links = calloc(bench.nr_links, sizeof(*bench.links));
	bench.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	bench.context = zmq_ctx_new();
	if (!bench.links || bench.epoll_fd < 0 || !bench.context)
		fail("start", ENOMEM);
	zmq_ctx_set(bench.context, ZMQ_MAX_SOCKETS, SOCKETS * (int)bench.nr_links + 16);
	read_pages(&bench.pages, argv[5]);
	printf("%u nodes, %.3f MB of pages each\n", bench.nr_links, bench.pages.nr_bytes / 1e6);
	connect_all(&bench);
	for (int i = 0; i < atoi(argv[3]); i++)
		send_all(&bench, i ? "a further round" : "the first round");
	end_all(&bench);
	for (uint32_t i = 0; i < bench.nr_links; i++)
		publisher_destroy(bench.links[i].publisher);
	zmq_ctx_term(bench.context);
	return 0;
}
