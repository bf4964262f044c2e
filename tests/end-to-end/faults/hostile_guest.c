/* hostile_guest SOCKET KIND SEED: a process that hands an agent what no guest would, in one of the kinds below, and
 * ends when the agent has had the time to look. What is random comes from the seed. With "-" for the socket it does the
 * same work, but no agent is given any of it: a neighbour that takes as much of the CPUs. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/definition.h"
#include "proto/ring/record_ring.h"
#include "proto/ring/record_ring_layout.h"
#include "tests/node-agent/guests/guest_fixture.h"

#define ROUNDS 20

static uint64_t seed;
static bool is_neighbour;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Numbers at which sums and indices break. */
static uint64_t wild(void)
{
	switch (any() % 6) {
	case 0:
		return UINT64_MAX - any() % 3;
	case 1:
		return 1ull << (any() % 64);
	case 2:
		return (1ull << (any() % 64)) - 1;
	case 3:
		return any() % 100;
	default:
		return any();
	}
}

static void fill(void *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = (uint8_t)(i % 8 ? wild() >> (any() % 8 * 8) : wild());
}

/* The agent looks every few hundredths of a second. */
static void let_it_look(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

struct shared {
	struct record_ring *ring;
	struct ring_layout layout;
	uint8_t *raw;
	int fd;
};

static struct ring_header *header(const struct shared *shared)
{
	return (struct ring_header *)shared->raw;
}

static struct ring_lane *lane(const struct shared *shared, uint32_t index)
{
	return (struct ring_lane *)(shared->raw + shared->layout.lane_controls) + index;
}

static bool make_ring(const struct record_ring_sizes *sizes, struct shared *shared)
{
	if (record_ring_create(sizes, &shared->ring, &shared->fd) ||
	    ring_layout(sizes, &shared->layout))
		return false;
	shared->raw = mmap(NULL, shared->layout.size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, shared->fd, 0);
	return shared->raw != MAP_FAILED;
}

static bool hand_over(const char *path, const struct shared *shared)
{
	return is_neighbour ||
	       guest_fixture_handshake(path, shared->fd, (uint8_t)any()) == HANDSHAKE_OK;
}

/* Records, stacks, names and definitions of anything. */
static void write_rubbish(const struct shared *shared)
{
	int own = record_ring_claim_lane(shared->ring);

	for (int i = 0; i < 200; i++) {
		struct launch_record launch;
		struct gpu_record record;
		struct collective_record collective;
		uint64_t frames[64];
		uint8_t head[96];
		char text[200];

		fill(&launch, sizeof(launch));
		fill(&record, sizeof(record));
		fill(&collective, sizeof(collective));
		fill(frames, sizeof(frames));
		fill(head, sizeof(head));
		fill(text, sizeof(text));
		record_ring_define(shared->ring, (uint32_t)any() % 16, head,
				   (uint32_t)any() % sizeof(head), text,
				   (uint32_t)any() % sizeof(text));
		record_ring_add_stack(shared->ring, frames, 1 + (uint32_t)any() % 64);
		record_ring_add_code(shared->ring, text, (uint32_t)any() % 99, text + 100,
				     (uint32_t)any() % 99);
		launch.stack_id %= 400;
		if (own >= 0)
			record_ring_push_launch(shared->ring, (uint32_t)own, &launch);
		record.kind %= 12;
		record_ring_push_activity(shared->ring, &record, 1);
		record_ring_push_collective(shared->ring, &collective);
	}
	if (own >= 0)
		record_ring_give_back_lane(shared->ring, (uint32_t)own);
}

static int rubbish(const char *path)
{
	struct shared shared;

	if (!make_ring(&RECORD_RING_SIZES_DEFAULT, &shared) || !hand_over(path, &shared))
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		write_rubbish(&shared);
		let_it_look();
	}
	return 0;
}

/* Counters that run backwards, wrap together, and say what nobody can have counted; cursors anywhere. */
static int counters(const char *path)
{
	struct shared shared;

	if (!make_ring(&RECORD_RING_SIZES_DEFAULT, &shared) || !hand_over(path, &shared))
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		record_ring_count(shared.ring, (uint32_t)any() % 4, LEDGER_RECORDS, wild(), wild());
		record_ring_count(shared.ring, LEDGER_DEVICE_NONE, LEDGER_RECORD_RING_FULL, wild(),
				  wild());
		header(&shared)->lanes = (uint32_t)wild();
		lane(&shared, (uint32_t)any() % 256)->produced = wild();
		lane(&shared, (uint32_t)any() % 256)->dropped = wild();
		header(&shared)->activity.produced -= any() % 5;
		header(&shared)->definition.produced -= any() % 50;
		write_rubbish(&shared);
		let_it_look();
	}
	return 0;
}

/* Words anywhere in what the agent maps or reads of the ring, but for the part that says what the ring is. */
static int scribbles(const char *path)
{
	struct shared shared;

	if (!make_ring(&RECORD_RING_SIZES_DEFAULT, &shared) || !hand_over(path, &shared))
		return 1;
	const uint64_t parts[] = {shared.layout.lane_controls, shared.layout.marks,
				  shared.layout.stack_index,   shared.layout.code_index,
				  shared.layout.log,           shared.layout.counters};
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 200; i++) {
			uint64_t *part = (uint64_t *)(shared.raw + parts[any() % 6]);

			((uint64_t *)shared.raw)[32 + any() % (4096 / 8 - 32)] = wild();
			part[any() % 2000] = wild();
		}
		write_rubbish(&shared);
		let_it_look();
	}
	return 0;
}

/* As many long names as are taken, each with a record. */
static int names(const char *path)
{
	struct shared shared;
	char text[4000];

	if (!make_ring(&RECORD_RING_SIZES_DEFAULT, &shared) || !hand_over(path, &shared))
		return 1;
	memset(text, 'n', sizeof(text));
	for (uint32_t i = 1; i <= 8000; i++) {
		struct definition_name name = {.name_id = i};
		struct gpu_record record = {.start_ns = i,
					    .end_ns = i + 1,
					    .correlation_id = i,
					    .name_id = i,
					    .window = 1};

		text[snprintf(text, 40, "hostile %016llx", (unsigned long long)any())] = 'n';
		/* Nobody reads a neighbour's ring, so that waiting gives no room. */
		for (int tries = 0; tries < 100; tries++) {
			if (record_ring_define(shared.ring, DEFINITION_NAME, &name, sizeof(name),
					       text, sizeof(text)) ||
			    is_neighbour)
				break;
			let_it_look();
		}
		record_ring_push_activity(shared.ring, &record, 1);
	}
	let_it_look();
	return 0;
}

/* 4 GiB, all of it claimed to be written and none of it there. */
static int holes(const char *path)
{
	struct record_ring_sizes sizes = RECORD_RING_SIZES_DEFAULT;
	struct shared shared;

	sizes.launch_lanes = 1024;
	sizes.launch_lane_records = 1u << 16;
	sizes.activity_records = 1u << 24;
	if (!make_ring(&sizes, &shared) || !hand_over(path, &shared))
		return 1;
	for (uint32_t i = 0; i < sizes.launch_lanes; i++)
		lane(&shared, i)->produced = sizes.launch_lane_records;
	header(&shared)->activity.produced = sizes.activity_records;
	header(&shared)->lanes = sizes.launch_lanes;
	for (int round = 0; round < ROUNDS; round++)
		let_it_look();
	return 0;
}

/* Another agent's epoch, made up anew each time. */
static int epochs(const char *path)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct shared shared;

		if (!make_ring(&guest_fixture_sizes, &shared))
			return 1;
		header(&shared)->owner[0] = any();
		header(&shared)->owner[1] = any();
		if (!hand_over(path, &shared))
			return 1;
		write_rubbish(&shared);
		let_it_look();
	}
	return 0;
}

/* A connection whose last close() waits for an hour. */
static int lingering_socket(void)
{
	const struct linger hour = {.l_onoff = 1, .l_linger = 3600};
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char bytes[1 << 16];

	if (bind(listening, (const struct sockaddr *)&address, size) || listen(listening, 1) ||
	    getsockname(listening, (struct sockaddr *)&address, &size) ||
	    connect(fd, (const struct sockaddr *)&address, size))
		return -1;
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour));
	return fd;
}

static int send_lingering(const char *path)
{
	const struct guest_hello hello = guest_fixture_hello(1);
	const int fds[2] = {lingering_socket(), lingering_socket()};

	if (fds[0] < 0 || fds[1] < 0)
		return 1;
	if (is_neighbour)
		return 0;
	int peer = guest_fixture_connect(path);
	if (peer < 0)
		return 1;
	/* What is read, and what nobody reads. */
	for (int i = 0; i < 3; i++)
		guest_fixture_send(peer, &hello, sizeof(hello), fds, 2);
	return 0;
}

/* A process that ends does not wait for what it closes (inet_release() in the kernel's net/ipv4/af_inet.c). A close()
 * of our own might be the last, and wait itself. */
static int lingers(const char *path)
{
	for (int round = 0; round < ROUNDS; round++) {
		int status;
		pid_t child = fork();

		if (child == 0)
			_exit(send_lingering(path));
		if (waitpid(child, &status, 0) != child || status)
			return 1;
	}
	let_it_look();
	return 0;
}

/* More places than one process needs. */
static int places(const char *path)
{
	for (int i = 0; i < 100; i++) {
		struct shared shared;

		if (!make_ring(&guest_fixture_sizes, &shared) || !hand_over(path, &shared))
			return 1;
		munmap(shared.raw, shared.layout.size);
		record_ring_destroy(shared.ring);
		close(shared.fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *path);
	} kinds[] = {
		{"rubbish", rubbish}, {"counters", counters},   {"names", names},
		{"holes", holes},     {"epochs", epochs},       {"lingers", lingers},
		{"places", places},   {"scribbles", scribbles},
	};

	if (argc != 4)
		return 2;
	is_neighbour = strcmp(argv[1], "-") == 0;
	seed = (strtoull(argv[3], NULL, 10) + 1) * 0x9e3779b97f4a7c15ull;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[2], kinds[i].name) == 0)
			return kinds[i].run(argv[1]);
	return 2;
}
