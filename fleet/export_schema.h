/* The tables of a journal (export_journal.h) in SQL, and its checksums. Constants. */
#ifndef EXPORT_SCHEMA_H
#define EXPORT_SCHEMA_H

/* Makes the tables of a new file in one transaction. It fails if they are there. */
extern const char export_schema[];

/* Queries whose number is 1 if the rows fit their checksums. The first is about what each look reads, the second about
 * what a round reads. They and all changes need database_add_checksum(), and recursive triggers. */
extern const char export_schema_heads_fit[];
extern const char export_schema_sums_fit[];

#endif
