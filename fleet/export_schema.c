#include "export_schema.h"

/* Checksums of rows; row: "", "NEW." or "OLD." */
#define OF_WORDS(row)  "checksum(" row "name, " row "word)"
#define OF_LABELS(row) "checksum(" row "id, " row "text)"
#define OF_STACKS(row) "checksum(" row "stack)"
#define OF_SUMS(row)                                                                               \
	"checksum(" row "kind, " row "place, " row "work, " row "stack, " row "count, " row        \
	"ns, " row "bytes)"
#define OF_BATCH(row)                                                                              \
	"checksum(" row "number, " row "kind, " row "rows, " row "tried, " row "stacks, " row      \
	"body)"

/* Each transaction keeps the sum of a table's checksums, and a damaged row does not fit it. */
#define WATCH(table, of)                                                                           \
	"CREATE TRIGGER " table "_insert AFTER INSERT ON " table " BEGIN UPDATE checks SET " table \
	" = " table                                                                                \
	" + " of("NEW.") "; END;"                                                                  \
			 "CREATE TRIGGER " table "_delete AFTER DELETE ON " table                  \
			 " BEGIN UPDATE checks SET " table " = " table                             \
			 " - " of("OLD.") "; END;"                                                 \
					  "CREATE TRIGGER " table "_update AFTER UPDATE ON " table \
					  " BEGIN UPDATE checks SET " table " = " table            \
					  " - " of("OLD.") " + " of("NEW.") "; END;"
#define FITS(table, of) table " = (SELECT ifnull(sum(" of("") "), 0) FROM " table ")"

const char export_schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE words (name TEXT PRIMARY KEY, word TEXT NOT NULL) WITHOUT "
	"ROWID;"
	"CREATE TABLE labels (id INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE);"
	"CREATE TABLE stacks (stack INTEGER PRIMARY KEY);"
	"CREATE TABLE sent (kind INTEGER, place INTEGER, work INTEGER, stack INTEGER,"
	" count INTEGER, ns INTEGER, bytes INTEGER, PRIMARY KEY (kind, place, work, stack)) "
	"WITHOUT ROWID;"
	"CREATE TABLE pending (kind INTEGER, place INTEGER, work INTEGER, stack "
	"INTEGER,"
	" count INTEGER, ns INTEGER, bytes INTEGER);"
	"CREATE TABLE batch (number INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER,"
	" rows INTEGER, tried INTEGER, stacks BLOB, body BLOB);"
	"CREATE TABLE checks (words INTEGER, labels INTEGER, stacks INTEGER, sent INTEGER,"
	" pending INTEGER, batch INTEGER, last INTEGER);"
	"INSERT INTO checks VALUES (0, 0, 0, 0, 0, 0, 0);" WATCH("words", OF_WORDS) WATCH("labels",
											  OF_LABELS)
		WATCH("stacks", OF_STACKS) WATCH("sent", OF_SUMS) WATCH("pending", OF_SUMS)
			WATCH("batch", OF_BATCH) "CREATE TRIGGER batch_number AFTER INSERT ON batch"
						 " BEGIN UPDATE checks SET last = NEW.number; END;"
						 "PRAGMA user_version = 1;"
						 "COMMIT;";

const char export_schema_heads_fit[] =
	"SELECT " FITS("words", OF_WORDS) " AND " FITS("pending", OF_SUMS) " AND " FITS(
		"batch", OF_BATCH) " AND last = ifnull((SELECT seq FROM sqlite_sequence WHERE name "
				   "= 'batch'), 0) FROM checks";
const char export_schema_sums_fit[] =
	"SELECT " FITS("labels", OF_LABELS) " AND " FITS("stacks", OF_STACKS) " AND " FITS(
		"sent", OF_SUMS) " AND (SELECT integrity_check = 'ok' FROM "
				 "pragma_integrity_check(1)) FROM checks";
