/* Writes columns of unsigned numbers as varints. Most columns have long runs of zeros, so a run is a 0 and its length
 * less one. profile.js reads them. Pure; used by one thread. */
#ifndef COLUMN_WRITER_H
#define COLUMN_WRITER_H

#include <stdint.h>
#include <stdio.h>

struct column_writer {
	FILE *out;      /* borrowed */
	uint64_t zeros; /* length of a run that was not written yet; 0 at first */
};

void column_writer_put(struct column_writer *writer, uint64_t value);

/* Numbers near zero are short, whatever their sign. */
void column_writer_signed(struct column_writer *writer, int64_t value);

/* Ends the column; another one may follow. */
void column_writer_end(struct column_writer *writer);

#endif
