#include "swarm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"

#define NS_PER_MS 1000000ull
#define PATIENCE_NS                                                                                \
	600000000000ull /* without any change of the number of nodes that are waited for */
#define EVENTS_MAX 256
#define SOCKETS    4u /* of ZeroMQ, for one node: its own, and those of its monitor */

int swarm_init(struct swarm *swarm, const struct swarm_options *options, const struct key_set *keys)
{
	int r = 0;

	*swarm = (struct swarm){.options = options, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	swarm->workload = workload_create(options);
	swarm->zmq_context = zmq_ctx_new();
	swarm->nodes = calloc(options->nr_nodes, sizeof(struct node *));
	if (swarm->epoll_fd < 0 || !swarm->workload || !swarm->zmq_context || !swarm->nodes) {
		fputs("swarm: out of memory or descriptors\n", stderr);
		return -ENOMEM;
	}
	zmq_ctx_set(swarm->zmq_context, ZMQ_MAX_SOCKETS, (int)(SOCKETS * options->nr_nodes + 16));
	for (uint32_t i = 0; r == 0 && i < options->nr_nodes; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

		r = node_create(swarm->workload, i, swarm->zmq_context, keys, &swarm->sums,
				&swarm->nodes[i]);
		if (r == 0 &&
		    epoll_ctl(swarm->epoll_fd, EPOLL_CTL_ADD, node_fd(swarm->nodes[i]), &event))
			r = -errno;
	}
	if (r)
		fprintf(stderr, "swarm: nodes: %s\n", strerror(-r));
	return r;
}

void swarm_fini(struct swarm *swarm)
{
	for (uint32_t i = 0; swarm->nodes && i < swarm->options->nr_nodes; i++)
		node_destroy(swarm->nodes[i]);
	if (swarm->zmq_context)
		zmq_ctx_term(swarm->zmq_context);
	workload_destroy(swarm->workload);
	free(swarm->nodes);
	if (swarm->epoll_fd >= 0)
		close(swarm->epoll_fd);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Steps the nodes that have news, or whose time has come. */
static int turn(struct swarm *swarm)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t now_ns = clock_now_ns(), deadline_ns = now_ns + 100 * NS_PER_MS;
	int r = 0;

	for (uint32_t i = 0; i < swarm->options->nr_nodes; i++) {
		uint64_t due_ns = node_deadline_ns(swarm->nodes[i]);

		if (due_ns < deadline_ns)
			deadline_ns = due_ns;
	}
	int wait_ms = deadline_ns <= now_ns
			      ? 0
			      : (int)((deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
	int count = epoll_wait(swarm->epoll_fd, events, EVENTS_MAX, wait_ms);
	if (count < 0 && errno != EINTR)
		return -errno;
	for (int i = 0; r == 0 && i < count; i++)
		r = node_step(swarm->nodes[events[i].data.u32], clock_now_ns());
	for (uint32_t i = 0; r == 0 && i < swarm->options->nr_nodes; i++) {
		now_ns = clock_now_ns();
		if (node_deadline_ns(swarm->nodes[i]) <= now_ns)
			r = node_step(swarm->nodes[i], now_ns);
	}
	return r;
}

/* How many nodes have not come so far yet. */
static uint32_t count_awaited(const struct swarm *swarm, enum node_state state)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < swarm->options->nr_nodes; i++)
		count += node_state(swarm->nodes[i]) < state || !node_is_heard(swarm->nodes[i]);
	return count;
}

/* Turns until all nodes have come to this state, and are heard. */
static int run_until(struct swarm *swarm, enum node_state state, struct swarm_phase *phase)
{
	uint64_t begin_ns = clock_now_ns(), changed_ns = begin_ns;
	uint32_t awaited = UINT32_MAX;
	struct watched_cost before;
	int r = 0;

	watched_cost_read(swarm->options->watched_pid, &before);
	while (r == 0) {
		uint32_t count = count_awaited(swarm, state);

		if (count == 0)
			break;
		if (count != awaited)
			changed_ns = clock_now_ns();
		awaited = count;
		r = clock_now_ns() - changed_ns > PATIENCE_NS ? -ETIMEDOUT : turn(swarm);
	}
	phase->wall_ns = clock_now_ns() - begin_ns;
	if (watched_cost_read(swarm->options->watched_pid, &phase->cost) == 0) {
		phase->cost.cpu_ns -= before.cpu_ns;
		phase->cost.written_bytes -= before.written_bytes;
		phase->cost.disk_bytes -= before.disk_bytes;
	}
	if (r)
		fprintf(stderr, "swarm: %u of %u nodes: %s\n", awaited, swarm->options->nr_nodes,
			strerror(-r));
	return r;
}

int swarm_run(struct swarm *swarm)
{
	int r = run_until(swarm, NODE_CONNECTING, &swarm->connects);

	if (r)
		return r;
	swarm->definition_bytes = swarm->sums.bytes;
	swarm->sums = (struct node_sums){0};
	workload_begin(swarm->workload, clock_now_ns(), clock_realtime_offset_ns());
	for (uint32_t i = 0; i < swarm->options->nr_nodes; i++)
		node_begin(swarm->nodes[i]);
	r = run_until(swarm, NODE_SPOKEN, &swarm->speaks);
	for (uint32_t i = 0; r == 0 && i < swarm->options->nr_nodes; i++)
		r = node_leave(swarm->nodes[i], clock_now_ns());
	return r ? r : run_until(swarm, NODE_LEFT, &swarm->leaves);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static double mb(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static void print_phase(const char *name, const struct swarm_phase *phase, bool watched, FILE *file)
{
	const struct watched_cost *cost = &phase->cost;

	fprintf(file, ", \"%s\": {\"wall_s\": %.3f", name, seconds(phase->wall_ns));
	if (watched)
		fprintf(file,
			", \"cpu_s\": %.3f, \"written_mb\": %.1f, \"disk_mb\": %.1f, "
			"\"rss_mb\": %.1f, \"peak_rss_mb\": %.1f",
			seconds(cost->cpu_ns), mb(cost->written_bytes), mb(cost->disk_bytes),
			mb(cost->rss_bytes), mb(cost->peak_rss_bytes));
	fputs("}", file);
}

static uint32_t count_state(const struct swarm *swarm, enum node_state state)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < swarm->options->nr_nodes; i++)
		count += node_state(swarm->nodes[i]) == state;
	return count;
}

void swarm_print(const struct swarm *swarm, FILE *file)
{
	const struct node_sums *sums = &swarm->sums;
	const struct swarm_phase *speaks = &swarm->speaks;
	uint64_t events = sums->launches + sums->records;
	bool watched = swarm->options->watched_pid != 0;

	fprintf(file,
		"{\"agents\": %u, \"left\": %u, \"dead\": %u, \"failed\": %u, \"events\": %" PRIu64
		", \"launches\": %" PRIu64 ", \"records\": %" PRIu64 ", \"collectives\": %" PRIu64
		", \"samples\": %" PRIu64 ", \"frames\": %" PRIu64 ", \"bytes\": %" PRIu64,
		swarm->options->nr_nodes, count_state(swarm, NODE_LEFT),
		count_state(swarm, NODE_DEAD), count_state(swarm, NODE_FAILED), events,
		sums->launches, sums->records, sums->collectives, sums->samples, sums->frames,
		sums->bytes);
	fprintf(file,
		", \"definition_bytes\": %" PRIu64
		", \"events_per_s\": %.0f, \"bytes_per_event\": %.2f, \"ack_p50_ms\": %.1f, "
		"\"ack_p90_ms\": %.1f, \"ack_p99_ms\": %.1f, \"ack_max_ms\": %.1f, "
		"\"waits\": %" PRIu64 ", \"lag_ms\": %.1f",
		swarm->definition_bytes,
		speaks->wall_ns ? (double)events / seconds(speaks->wall_ns) : 0,
		events ? (double)sums->bytes / (double)events : 0,
		ms(latency_quantile_ns(&sums->acks, 0.5)),
		ms(latency_quantile_ns(&sums->acks, 0.9)),
		ms(latency_quantile_ns(&sums->acks, 0.99)), ms(sums->acks.max_ns), sums->waits,
		ms(sums->lag_ns));
	if (watched && events && speaks->cost.cpu_ns)
		fprintf(file, ", \"cpu_s_per_million\": %.3f, \"events_per_cpu_s\": %.0f",
			seconds(speaks->cost.cpu_ns) / (double)events * 1e6,
			(double)events / seconds(speaks->cost.cpu_ns));
	print_phase("connects", &swarm->connects, watched, file);
	print_phase("speaks", speaks, watched, file);
	print_phase("leaves", &swarm->leaves, watched, file);
	fputs("}\n", file);
}
