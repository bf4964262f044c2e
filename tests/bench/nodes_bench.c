/* What it costs to keep the profiles that nodes fold: one round of all nodes, as frames, then the file's save and load.
 *	nodes_bench [NODES [BYTES-OF-A-PROFILE [BYTES-OF-A-PAGE]]]	(1,000 nodes, 350,000 bytes, 3,500 bytes)
 * Or what it costs to put the profiles of nodes, which lie in stores of their own, into one. It leaves the file of nodes
 * STORE.nodes, and the store of all, STORE, for reports.
 *	nodes_bench --settle STORE NODE... */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aggregator/pages/page_file.h"
#include "aggregator/pages/page_reader.h"
#include "aggregator/pages/page_set.h"
#include "base/clock.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "report/profile/profile_parts.h"
#include "report/profile/whole_profile.h"

#define PART_BYTES (256u << 10) /* of a message */
#define PARTS_MAX  4096u

struct bench {
	uint32_t nodes, bytes, page_bytes;
	struct page_set *set;
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
	uint64_t taken_ns, messages, wire_bytes; /* of thread's CPU time, without encoding */
};

static double megabytes_resident(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static void send(struct bench *bench, const struct message_pages *pages)
{
	const struct message message = {.type = MESSAGE_PAGES, .pages = *pages};
	const char *reason = "";
	struct message decoded;
	const uint8_t *frame;
	size_t size;
	int error = batch_encode(bench->encoder, &message, &frame, &size);
	uint64_t began_ns = clock_thread_ns();

	if (!error)
		error = batch_decode(bench->decoder, frame, size, &decoded);
	if (!error)
		error = page_set_take(bench->set, &decoded.pages, &reason);
	bench->taken_ns += clock_thread_ns() - began_ns;
	bench->messages++;
	bench->wire_bytes += size;
	if (error) {
		fprintf(stderr, "nodes_bench: %s %s\n", strerror(-error), reason);
		exit(1);
	}
}

static void send_round(struct bench *bench, uint32_t node, uint64_t round)
{
	static struct message_page_part parts[PARTS_MAX];
	static uint8_t bytes[PART_BYTES];
	const uint32_t nr_pages = bench->bytes / bench->page_bytes;
	const struct message_page_table table = {0, nr_pages};
	struct message_pages pages = {.seq = 1, .round = round, .parts = parts, .bytes = bytes};

	memcpy(pages.writer, &node, sizeof(node));
	memset(bytes, (int)(node + round), sizeof(bytes));
	for (uint32_t i = 0; i < nr_pages; i++) {
		if (pages.nr_parts == PARTS_MAX ||
		    pages.nr_bytes + bench->page_bytes > PART_BYTES) {
			send(bench, &pages);
			pages.nr_parts = pages.nr_bytes = 0;
		}
		parts[pages.nr_parts++] = (struct message_page_part){
			.number = i, .page_bytes = bench->page_bytes, .size = bench->page_bytes};
		pages.nr_bytes += bench->page_bytes;
	}
	pages.nr_tables = 1;
	pages.tables = &table;
	send(bench, &pages);
}

static void measure_rounds(struct bench *bench, uint64_t round)
{
	bench->taken_ns = bench->messages = bench->wire_bytes = 0;
	for (uint32_t node = 0; node < bench->nodes; node++)
		send_round(bench, node, round);
	printf("round %llu of %u nodes: %llu messages, %.1f MB; decoded and taken in %.3f s of "
	       "CPU; "
	       "%.0f MB of pages, at most %.0f MB resident\n",
	       (unsigned long long)round, bench->nodes, (unsigned long long)bench->messages,
	       (double)bench->wire_bytes / 1e6, (double)bench->taken_ns / 1e9,
	       (double)page_set_bytes(bench->set) / 1e6, megabytes_resident());
}

static void measure_file(struct bench *bench, const char *path)
{
	uint64_t began_ns = clock_now_ns();
	struct page_snapshot *snapshot = page_set_snapshot(bench->set);
	uint64_t snapshot_ns = clock_now_ns();

	if (!snapshot || page_file_write(snapshot, path))
		exit(1);
	uint64_t written_ns = clock_now_ns();
	page_set_release(bench->set, snapshot, true);
	uint64_t released_ns = clock_now_ns();
	page_set_destroy(bench->set);
	uint64_t loading_ns = clock_now_ns();
	if (page_set_load(path, &bench->set))
		exit(1);
	printf("file: snapshot %.3f ms, released in %.3f ms; written in %.2f s; loaded in %.2f s\n",
	       (double)(snapshot_ns - began_ns) / 1e6, (double)(released_ns - written_ns) / 1e6,
	       (double)(written_ns - snapshot_ns) / 1e9,
	       (double)(clock_now_ns() - loading_ns) / 1e9);
}

struct round {
	struct page_set *set;
	struct message_pages pages;
	uint32_t nr_pages[PROFILE_TABLES_MAX];
};

static int add_page(void *context, const struct profile_page *page)
{
	struct round *round = context;
	const struct message_page_part part = {.table = page->table,
					       .number = page->number,
					       .page_bytes = page->size,
					       .size = page->size};
	const char *reason = "";

	round->pages.parts = &part;
	round->pages.nr_parts = 1;
	round->pages.bytes = page->bytes;
	round->pages.nr_bytes = page->size;
	round->nr_pages[page->table] = page->number + 1;
	return page_set_take(round->set, &round->pages, &reason);
}

static int add_node(struct page_set *set, const char *path, uint32_t node)
{
	struct round round = {.set = set, .pages = {.seq = 1, .round = 1}};
	struct message_page_table tables[PROFILE_TABLES_MAX];
	struct database *database;
	const char *reason = "";

	memcpy(round.pages.writer, &node, sizeof(node));
	if (database_open(path, true, &database, NULL))
		return -EIO;
	int error = database_execute(database, "BEGIN");
	if (!error)
		error = page_reader_read(database, add_page, &round);
	database_execute(database, "COMMIT");
	database_close(database);
	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++)
		tables[i] = (struct message_page_table){i, round.nr_pages[i]};
	round.pages.nr_parts = round.pages.nr_bytes = 0;
	round.pages.nr_tables = PROFILE_TABLES_MAX;
	round.pages.tables = tables;
	return error ? error : page_set_take(set, &round.pages, &reason);
}

static int measure_settling(const char *store_path, char **paths, int nr_paths)
{
	struct page_set *set = page_set_create();
	char nodes_path[4096], *text = NULL;
	int error = 0;

	snprintf(nodes_path, sizeof(nodes_path), "%s" PROFILE_PARTS_NODES, store_path);
	uint64_t began_ns = clock_now_ns();
	for (int i = 0; i < nr_paths && !error; i++)
		error = add_node(set, paths[i], (uint32_t)i + 1);
	printf("%d nodes: %.1f MB of pages, read in %.2f s\n", nr_paths,
	       (double)page_set_bytes(set) / 1e6, (double)(clock_now_ns() - began_ns) / 1e9);
	if (!error)
		error = page_set_save(set, nodes_path);
	page_set_destroy(set);
	began_ns = clock_now_ns();
	uint64_t cpu_ns = clock_thread_ns();
	if (!error)
		error = whole_profile_settle(store_path, &text);
	if (error < 0) {
		fprintf(stderr, "nodes_bench: %s\n", text ? text : strerror(-error));
		return 1;
	}
	printf("put into one: %.2f s, %.2f s of CPU, at most %.0f MB resident\n",
	       (double)(clock_now_ns() - began_ns) / 1e9,
	       (double)(clock_thread_ns() - cpu_ns) / 1e9, megabytes_resident());
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "--settle") == 0)
		return measure_settling(argv[2], argv + 3, argc - 3);

	struct bench bench = {
		.nodes = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000,
		.bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 350000,
		.page_bytes = argc > 3 ? (uint32_t)atoi(argv[3]) : 3500,
		.set = page_set_create(),
		.encoder = batch_encoder_create(),
		.decoder = batch_decoder_create(),
	};
	char path[] = "/tmp/nodes_bench_XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || !bench.set || !bench.encoder || !bench.decoder || bench.page_bytes == 0 ||
	    bench.page_bytes > PART_BYTES || bench.bytes < bench.page_bytes) {
		fprintf(stderr, "usage: nodes_bench [NODES [BYTES [BYTES-OF-A-PAGE]]]\n");
		return 2;
	}
	close(fd);
	measure_rounds(&bench, 1);
	measure_rounds(&bench, 2);
	measure_file(&bench, path);
	unlink(path);
	page_set_destroy(bench.set);
	batch_encoder_destroy(bench.encoder);
	batch_decoder_destroy(bench.decoder);
	return 0;
}
