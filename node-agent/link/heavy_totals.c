#include "heavy_totals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/store/block_code.h"
#include "aggregator/store/store_damage.h"
#include "aggregator/store/store_totals.h"
#include "proto/record.h"

/* Statements that make temporary tables like the store's own, which are found before these. */
#define TABLES                                                                                     \
	"SELECT CAST(group_concat('CREATE TEMP ' || substr(sql, 1 + length('CREATE ')), ';') AS"   \
	" BLOB) FROM main.sqlite_master WHERE type = 'table'"                                      \
	" AND name IN ('totals', 'host_samples', 'total_blocks', 'meta')"
#define TABLES_SIZE 4096u
#define NODE_QUERY                                                                                 \
	"SELECT data FROM strings WHERE id = (SELECT node FROM hosts ORDER BY id LIMIT 1)"
#define NODE_SIZE 256u
#define SHARE     10000u /* parts of a whole in a note */

/* The rows of one kind, heaviest first. */
struct heavy_rows {
	struct fold_table *table; /* owns */
	struct fold_row *rows;    /* owns; what each has beside its sums is the table's */
	uint32_t count, kept;
	uint64_t total_ns,
		left_ns; /* of GPU work, or of samples; left: of the rows that are not kept */
};

/* The heavier is the lesser. Equal ones are in the order of their first appearance. */
static int by_weight(const void *a, const void *b)
{
	const struct fold_row *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return memcmp(&left->key, &right->key, sizeof(left->key));
}

static int read_rows(struct heavy_rows *heavy, struct database *database,
		     enum store_totals_kind kind)
{
	uint32_t count;

	heavy->table = fold_table_create();
	int error = heavy->table ? store_totals_read(database, kind, heavy->table) : -ENOMEM;
	if (error)
		return error;
	const struct fold_row *rows = fold_table_rows(heavy->table, &count);
	heavy->rows = malloc((count + 1ull) * sizeof(*rows));
	if (!heavy->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		heavy->rows[i] = rows[i];
	heavy->count = count;
	qsort(heavy->rows, count, sizeof(*rows), by_weight);
	return 0;
}

static void add_up(struct heavy_rows *heavy, enum store_totals_kind kind)
{
	for (uint32_t i = 0; i < heavy->count; i++) {
		const struct fold_row *row = &heavy->rows[i];

		if (kind == STORE_TOTALS_GPU && row->key.kind > RECORD_GPU_GRAPH)
			continue;
		heavy->total_ns += row->ns;
		if (i >= heavy->kept)
			heavy->left_ns += row->ns;
	}
}

/* Rounded up: what is left out is never nothing. */
static double percent_left(const struct heavy_rows *heavy)
{
	const double share = (double)heavy->left_ns / ((double)heavy->total_ns + 1) * SHARE;

	return ((double)(uint64_t)share + 1) * 100 / SHARE;
}

static int write_note(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
		      const struct heavy_rows heavy[STORE_TOTALS_KINDS])
{
	const struct heavy_rows *gpu = &heavy[STORE_TOTALS_GPU],
				*samples = &heavy[STORE_TOTALS_SAMPLES];
	struct store_damage note;
	char node[NODE_SIZE] = "";
	int size;

	database_query_text(database, NODE_QUERY, node, sizeof(node));
	for (size_t i = 0; i < STORE_WRITER_SIZE; i++)
		snprintf(note.key + 2 * i, 3, "%02x", writer[i]);
	size = snprintf(note.text, sizeof(note.text), "%s (", *node ? node : "a node");
	if (gpu->kept < gpu->count)
		size += snprintf(note.text + size, sizeof(note.text) - (size_t)size,
				 "%.2f %% of its GPU time", percent_left(gpu));
	if (samples->kept < samples->count)
		size += snprintf(note.text + size, sizeof(note.text) - (size_t)size,
				 "%s%.2f %% of its host samples",
				 gpu->kept < gpu->count ? ", " : "", percent_left(samples));
	snprintf(note.text + size, sizeof(note.text) - (size_t)size, STORE_DAMAGE_UNSENT);
	return store_damage_write(database, &note);
}

static int write_tables(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
			const struct heavy_rows heavy[STORE_TOTALS_KINDS])
{
	struct statement_set set = {0};
	struct block_code code = {0};
	char tables[TABLES_SIZE];
	int error = database_query_text(database, TABLES, tables, sizeof(tables));

	if (!error)
		error = database_execute(database, tables);
	if (!error)
		error = database_execute(database, "INSERT INTO temp.meta SELECT * FROM main.meta");
	if (!error)
		error = statement_set_init(&set, database, store_totals_commands);
	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS && !error; kind++)
		error = store_totals_append(&set, &code, kind, heavy[kind].rows, heavy[kind].kept);
	statement_set_fini(&set);
	block_code_fini(&code);
	return error ? error : write_note(database, writer, heavy);
}

int heavy_totals_keep(struct database *database, const uint8_t writer[static STORE_WRITER_SIZE],
		      uint32_t max_rows)
{
	struct heavy_rows heavy[STORE_TOTALS_KINDS] = {0};
	struct heavy_rows *gpu = &heavy[STORE_TOTALS_GPU], *samples = &heavy[STORE_TOTALS_SAMPLES];
	int error = 0;

	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS && !error; kind++)
		error = read_rows(&heavy[kind], database, kind);
	const uint32_t half = max_rows / 2;
	const uint32_t others = samples->count < half ? samples->count : half;
	gpu->kept = gpu->count < max_rows - others ? gpu->count : max_rows - others;
	samples->kept =
		samples->count < max_rows - gpu->kept ? samples->count : max_rows - gpu->kept;
	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS; kind++)
		add_up(&heavy[kind], kind);
	if (!error && (gpu->kept < gpu->count || samples->kept < samples->count))
		error = write_tables(database, writer, heavy);
	for (uint32_t kind = 0; kind < STORE_TOTALS_KINDS; kind++) {
		free(heavy[kind].rows);
		fold_table_destroy(heavy[kind].table);
	}
	return error;
}
