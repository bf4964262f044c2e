/* A stream that compresses into another one, as gzip does, or as zlib does for a browser's "deflate" (RFC 1950). The
 * result depends on nothing but what is written: it has no time and no name. Used by one thread. */
#ifndef DEFLATE_FILE_H
#define DEFLATE_FILE_H

#include <stdio.h>

enum deflate_format { DEFLATE_GZIP, DEFLATE_ZLIB };

/* Returns a stream for writing, which the caller ends with fclose(). Only then is everything in out, whose own errors
 * the caller looks for; out stays open. out is borrowed until fclose(). NULL: out of memory. */
FILE *deflate_file_open(FILE *out, enum deflate_format format);

#endif
